"""Reports: whole pages about anything, and the same parts in notebooks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.archives import small_archive
from tests.places import ROOT
from tests.unit.pages.test_pages import evil_map

import byteatlas as ba
from byteatlas.cli.app import cli
from byteatlas.errors import BadRequest, MissingExtra, NotFound
from byteatlas.manifest.model import ChunkManifest, ScanReport, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.pages import rendering
from byteatlas.pages.bytemap import COLOURS, MOST_COLUMNS, MOST_FILES, Spread, byte_map
from byteatlas.pages.costs import cost_lines
from byteatlas.scanning.reasons import EXPLAINED, REMEDIES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("sea")
    for file in small_archive():
        shutil.copy(file, found)
    return found


@pytest.fixture
def without_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingExtra("report", "a page for people")

    monkeypatch.setattr(rendering, "environment", missing)


def conflicted(folder: Path) -> ba.Plan:
    """The second file has other dimensions."""
    first, second, *_ = sorted(folder.glob("*.nc"))
    odd = ba.scan(second)
    sst = odd.arrays["sst"]
    meta = ba.array_meta(sst.meta.shape, "i2", chunks=(1, 18, 36), dimension_names=("time", "y", "x"))
    group = VirtualGroup(odd.meta, {**odd.arrays, "sst": VirtualArray(meta, sst.manifest)}, odd.groups)
    return ba.plan_combine([ba.scan(first), group], "time")


def alone(page: str) -> bool:
    """Whether a page asks nothing of others."""
    return not re.search(r"(src|href)=\"(?!data:|#)|url\(|@import|<link rel=\"stylesheet", page)


def test_the_page_of_an_archive(folder: Path) -> None:
    file = folder / "ocean_2024-01.nc"
    page = ba.report(file)
    assert page.lstrip().startswith("<!doctype html>")
    assert alone(page)
    for word in (
        "atmosphere/",
        "sea_surface_temperature",
        "zlib",
        "one step of time",
        "Where the bytes lie",
        str(file),
    ):
        assert word in page, word
    assert page.count("data:image/png;base64,") == 5, "a picture for each array of two axes or more"
    assert "data:image/png" not in ba.report(file, looks=False)
    assert "<title>Mine · byteatlas" in ba.report(ba.open(file), title="Mine")
    assert "sst: bytes " in page, "what lies under the pointer has a name"


def test_everything_from_files_is_escaped() -> None:
    for page in (ba.report(ba.load(evil_map())), ba.load(evil_map())._repr_html_() or ""):
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
        assert "<img src=x" not in page


def test_a_damaged_file_in_a_folder_is_shown_as_refused(folder: Path, tmp_path: Path) -> None:
    whole = sorted(folder.glob("*.nc"))[0].read_bytes()
    (tmp_path / "good.nc").write_bytes(whole)
    (tmp_path / "cut.nc").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "other.json").write_text('{"a map": "of nothing"}')
    page = ba.report(tmp_path)
    assert "good.nc" in page
    assert "cut.nc" in page
    assert "other.json" in page
    assert "corrupt" in page


def test_folders_and_combinations(folder: Path) -> None:
    page = ba.report(folder)
    assert "ocean_2024-01.nc/" in page
    assert "ocean_2024-03.nc/" in page
    page = ba.report(folder, concat="time")
    assert "They can be combined." in page
    assert "attributes differ: month" in page
    assert "in 3 files" in page
    with pytest.raises(BadRequest, match="concat"):
        ba.report(sorted(folder.glob("*.nc")))


def test_a_store_is_no_folder_of_files(tmp_path: Path) -> None:
    ba.create_group(tmp_path / "a")
    ba.create_array(tmp_path / "a", "x.nc", ba.array_meta((3,), "i4", chunks=(3,)))
    assert '<span class="kind">store</span>' in ba.report(tmp_path / "a")


def test_conflicts_are_shown_with_files_and_values(folder: Path) -> None:
    plan = conflicted(folder)
    page = plan.html()
    assert "They cannot be combined: 1 conflict." in page
    assert "time, y, x" in page
    assert "ocean_2024-02.nc" in page


def test_verifications_and_scan_reports(folder: Path) -> None:
    assert "Nothing differs." in ba.verify(folder / "ocean_2024-01.nc").html()
    item = ba.ReportItem("a/b", "refused", "filter", "filter 32099 is not known")
    found = ScanReport([item, ba.ReportItem("c", "virtual")])
    page = found.html()
    for word in ("filter 32099 is not known", EXPLAINED["filter"], REMEDIES["filter"]):  # type: ignore[index]
        assert word in page.replace("&#39;", "'"), word
    assert isinstance(ba.scan(folder / "ocean_2024-01.nc").report, ScanReport)


def test_every_reason_has_a_remedy() -> None:
    assert set(REMEDIES) == set(EXPLAINED)


def many_files(n: int, gone: str = "/gone") -> VirtualGroup:
    sources = tuple(SourceInfo(f"{gone}/out_{i:05d}.nc") for i in range(n))
    meta = ba.array_meta((n, 4), "f4", chunks=(1, 4), dimension_names=("time", "x"))
    offset = np.full(n, 100, np.uint64)
    manifest = ChunkManifest((n, 1), sources, np.arange(n, dtype=np.int32), offset, np.full(n, 300, np.uint64))
    return VirtualGroup(arrays={"a": VirtualArray(meta, manifest)})


def test_ten_thousand_files_fit_on_a_page(tmp_path: Path) -> None:
    ba.write(many_files(10_000), tmp_path / "many.parquet")
    page = ba.report(tmp_path / "many.parquet")
    assert len(page) < 150_000
    assert page.count("<g><title>") == MOST_COLUMNS
    assert "10,000 files from left to right" in page
    assert "No picture: " in page, "files that are gone cost the pictures only"


def test_maps_that_are_read_on_demand_have_their_files_as_well(tmp_path: Path) -> None:
    ba.write(many_files(30), tmp_path / "some.json")
    found = byte_map({"a": ba.load(tmp_path / "some.json").arrays["a"].manifest}, {"a": 0})  # type: ignore[union-attr]
    assert found is not None
    assert (found.files, found.more, len(found.bars), len(found.columns)) == (30, 18, MOST_FILES, 30)
    assert [(p.begin, p.end, p.colour) for p in found.columns[0].parts] == [(15, 60, 0)]
    assert found.columns[29].covered == 75


def test_bytes_are_counted_where_they_lie() -> None:
    rng = np.random.default_rng(5)
    sizes, bins = np.array([1000, 730]), 7
    file = rng.integers(0, 2, 50)
    offset = rng.integers(0, 600, 50)
    length = rng.integers(1, 130, 50)
    spread = Spread(np.array([0, 1]), sizes, bins)
    spread.add(3, file, offset, length)
    expected = np.zeros((2, COLOURS + 1, bins))
    for f, begin, n in zip(file, offset, length, strict=True):
        edges = np.linspace(0, sizes[f], bins + 1)
        expected[f, 3] += np.clip(np.minimum(begin + n, edges[1:]) - np.maximum(begin, edges[:-1]), 0, None)
    np.testing.assert_allclose(spread.result(), expected, atol=1e-6)


def test_costs() -> None:
    lines = cost_lines(many_files(20).arrays["a"])
    assert [(line.what, line.requests, line.bytes) for line in lines] == [
        ("one step of time", "1 request", "300 B"),
        ("all of time at a point", "20 requests in 20 files", "6.0 kB"),
        ("everything", "20 requests in 20 files", "6.0 kB"),
    ]


def test_cards_in_notebooks(folder: Path) -> None:
    file = folder / "ocean_2024-01.nc"
    vg, root = ba.scan(file), ba.open_group(file)
    for value in (vg, vg["sst"], root, root.array("sst"), conflicted(folder), vg.report, ba.verify(file)):
        text = value._repr_html_()
        assert text is not None
        assert text.lstrip().startswith('<div class="byteatlas">'), type(value)
        assert alone(text)
        assert len(text) < 40_000
    assert "atmosphere/t2m" in root._ipython_key_completions_()
    assert "atmosphere/t2m" in vg._ipython_key_completions_()
    assert "sst  int16 (time 6" in vg.tree()


@pytest.mark.usefixtures("without_jinja2")
def test_without_jinja2(folder: Path) -> None:
    vg = ba.scan(folder / "ocean_2024-01.nc")
    assert vg._repr_html_() is None
    with pytest.raises(MissingExtra, match=r"byteatlas\[report\]"):
        vg.html()


def test_typed_members(folder: Path) -> None:
    file = folder / "ocean_2024-01.nc"
    root = ba.open_group(file)
    assert root["sst"].shape == root.array("sst").shape == ba.open_array(file, "sst").shape == (6, 36, 72)
    assert list(root.group("quality")) == ["level"]
    for wrong in (lambda: root.array("quality"), lambda: root.group("sst"), lambda: ba.open_array(file)):
        with pytest.raises(NotFound):
            wrong()
    with pytest.raises(NotFound, match="is an array"):
        ba.open_group(file, "sst")


def test_the_command(folder: Path, tmp_path: Path) -> None:
    file, target = folder / "ocean_2024-01.nc", tmp_path / "r.html"
    done = CliRunner().invoke(cli, ["report", str(file), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert "open it in a browser" in done.output
    assert alone(target.read_text(encoding="utf-8"))
    before = file.read_bytes()
    assert CliRunner().invoke(cli, ["report", str(file), "-o", str(file)]).exit_code == 2
    shutil.copy(file, tmp_path / "odd.html")
    assert (
        CliRunner().invoke(cli, ["report", str(tmp_path / "odd.html"), "-o", str(tmp_path / "odd.html")]).exit_code == 2
    )
    assert (tmp_path / "odd.html").read_bytes() == before == file.read_bytes()
    assert CliRunner().invoke(cli, ["report", str(file), str(file), "-o", str(target)]).exit_code == 2


def test_colours_have_values() -> None:
    """What the pages' styles name is defined: a colour without a value would be invisible."""
    folder = ROOT / "src/byteatlas/pages/assets"
    styles = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.css"))
    assert set(re.findall(r"var\((--[\w-]+)\)", styles)) <= set(re.findall(r"(--[\w-]+):", styles))
