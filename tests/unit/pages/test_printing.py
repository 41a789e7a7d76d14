"""What our values print: what one wants to know, in lines that fit, and never columns of numbers."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.combining.model import BlockPlan, DimensionPlan, Plan
from byteatlas.pages.findings import plan_lines


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for i, unit in enumerate(("K", "m")):
        with h5py.File(f"{i}.nc", "w") as f:
            f["time"] = np.arange(2) + 2 * i
            f["time"].make_scale("time")
            f["deep/air"] = np.arange(8.0).reshape(2, 4)
            f["deep/air"].attrs["units"] = unit
            f["deep/air"].dims[0].attach_scale(f["time"])
    return ["0.nc", "1.nc"]


def test_a_manifest_is_one_line(files: list[str]) -> None:
    vg = ba.scan(files[0], options=ba.ScanOptions(inline_below=20))
    array = vg["deep/air"]
    assert isinstance(array, ba.VirtualArray)
    assert repr(array.manifest.load()) == "<ChunkManifest grid (1, 1), 1 references to 1 file>"
    time = vg["time"]
    assert isinstance(time, ba.VirtualArray)
    assert "0 references to" in repr(time.manifest.load())
    assert "1 inlined" in repr(time.manifest.load())


def test_reports_say_what_is_wrong(files: list[str]) -> None:
    report = ba.ScanReport((ba.ReportItem("a", "virtual"), ba.ReportItem("b", "refused", "vlen", "text of any length")))
    assert repr(report) == "<ScanReport: 1 virtual, 1 refused>\n  b: vlen: text of any length"
    assert repr(ba.ScanReport()) == "<ScanReport: no datasets>"
    found = ba.VerifyReport(
        "x", (ba.VerifyItem("a", "equal", "", 3), ba.VerifyItem("b", "lost"), ba.VerifyItem("c", "error", "e"))
    )
    assert repr(found) == "<VerifyReport x: 1 equal, 1 lost, 1 error, 3 values>\n  b: lost\n  c: error: e"
    many = ba.scan_many([files[0], "lost.nc"], executor="serial")
    first, second = repr(many).splitlines()
    assert first == "<Results: 1 done, 1 failed>"
    assert second.startswith("  lost.nc: FetchFailed: ")


def test_a_plan_ends_with_its_findings(files: list[str]) -> None:
    lines = repr(ba.plan_combine(files, "time")).splitlines()
    assert lines[0] == "<Plan of 2 inputs, cannot be combined>"
    assert lines[1] == "  time 4 (ascending, by variable time)"
    assert lines[2] == "  time int64 (time 4), inlined"
    assert any(line.startswith("  conflict: variable 'deep/air': units differs") for line in lines)
    assert repr(ba.prepare_combine(files, "time")).startswith("<PreparedTree of 2 inputs, cannot be combined>\n")


def test_a_group_lists_what_is_at_hand(files: list[str]) -> None:
    lines = repr(ba.open(files[0])).splitlines()
    assert lines[0] == "<Group '/'>"
    assert [line.split()[0] for line in lines[1:]] == ["time", "deep/", "deep/air"]
    ba.copy(files[0], "a.zarr")
    assert repr(ba.open("a.zarr")) == "<Group '/'>", "a store may be far away"
    time = ba.scan(files[0]).arrays["time"]
    wide = ba.VirtualGroup(arrays={f"v{i}": time for i in range(50)})
    assert repr(ba.open(wide)).splitlines()[-1] == "  ..."


def test_times_of_a_plan_are_dates_on_its_page() -> None:
    block = BlockPlan(0, 59, 60, ("a",))

    def ends(units: str | None, calendar: str | None = None) -> str:
        dim = DimensionPlan("time", "variable time", "ascending", 60, (block,), units, calendar)
        return plan_lines(Plan(("a",), (dim,), (), ())).dimensions[0][3]

    assert ends("days since 2001-01-01", "standard") == "2001-01-01 to 2001-03-01"
    assert ends("days since 2001-01-01", "360_day") == "0 to 59 days since 2001-01-01"
    assert ends(None) == "0 to 59"


def test_every_value_completes_or_shows_itself(files: list[str]) -> None:
    vg, root = ba.scan(files[0]), ba.open_group(files[0])
    assert vg._ipython_key_completions_() == root._ipython_key_completions_() == ["time", "deep", "deep/air"]
    plan, found = ba.plan_combine(files, "time"), ba.verify(files[0])
    for value in (vg, vg["time"], root, root["time"], plan, vg.report, found):
        assert 'class="byteatlas"' in (value._repr_html_() or "")
