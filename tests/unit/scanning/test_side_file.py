"""Values too large for a map: refused, or in a side file that the references lead to."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

import byteatlas as ba
from byteatlas.cli.scan import scan as scan_command

OPTIONS = ba.ScanOptions(max_inline=10_000, inline_most=1_000)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "texts.h5"
    with h5py.File(path, "w") as file:
        file["long"] = [f"{i:030d}" for i in range(1000)]
        file["short"] = ["a", "bb"]
        file["numbers"] = np.arange(10)
        file.create_dataset("sequences", (2,), h5py.vlen_dtype("i4"))
        file["sequences"][0] = np.arange(3000, dtype="i4")
        file["sequences"][1] = [1]
    return path


def statuses(group: ba.VirtualGroup) -> dict[str, str]:
    return {item.path.strip("/"): item.status for item in group.report}


def test_large_values_are_refused_without_a_side_file(archive: Path) -> None:
    found = ba.scan(archive, options=OPTIONS, on_refusal="ignore")
    assert statuses(found) == {"long": "refused", "sequences": "refused", "short": "inlined", "numbers": "virtual"}
    assert {i.reason for i in found.report if i.status == "refused"} == {"vlen-large"}


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_large_values_go_to_the_side_file(archive: Path, tmp_path: Path, form: str) -> None:
    side = tmp_path / "texts.data"
    found = ba.scan(archive, options=OPTIONS, side_file=side, on_refusal="raise")
    assert statuses(found) == {"long": "side file", "sequences": "side file", "short": "inlined", "numbers": "virtual"}
    ba.write(found, tmp_path / f"map.{form}")
    assert side.stat().st_size > 30_000
    if form == "json":
        assert (tmp_path / "map.json").stat().st_size < 10_000
    root = ba.open(tmp_path / f"map.{form}")
    assert isinstance(root, ba.Group)
    values = {name: array[...] for name, array in root.arrays().items()}
    assert values["long"].tolist() == [f"{i:030d}" for i in range(1000)]
    assert values["short"].tolist() == ["a", "bb"]
    assert list(values["sequences"][0]) == list(range(3000))


def test_nothing_is_written_when_nothing_is_large(archive: Path, tmp_path: Path) -> None:
    found = ba.scan(archive, side_file=tmp_path / "none.data", options=ba.ScanOptions(inline_most=1 << 20))
    assert "side file" not in statuses(found).values()
    assert not (tmp_path / "none.data").exists()


def test_the_command_takes_sizes_and_says_what_was_refused(archive: Path, tmp_path: Path) -> None:
    target = tmp_path / "maps" / "a.json"
    target.parent.mkdir()
    run = CliRunner().invoke(
        scan_command, [str(archive), "-o", str(target), "--target-chunk", "1MiB", "--side-files", "--json"]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)[0]["refused"] == []
    wrong = CliRunner().invoke(scan_command, [str(archive), "-o", str(target), "--target-chunk", "4 apples"])
    assert wrong.exit_code == 2
    assert "no size" in wrong.output
