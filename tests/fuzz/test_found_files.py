"""Files that fuzzing found: each was read under other names or with other values than by the format's library."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from fixtures.hdf4 import make_hdf4
from tests.fuzz.pyhdf_oracle import differs_from_pyhdf
from tests.fuzz.run_raster import read_all

import byteatlas as ba

NUMBER_TYPE, DATA, NDG = 106, 702, 720


def report(data: bytes, path: Path) -> dict[str, tuple[str, str | None, tuple[str, ...]]]:
    path.write_bytes(data)
    return {i.path: (i.status, i.reason, i.locators) for i in ba.scan(str(path), on_refusal="ignore").report}


def test_an_hdf4_dataset_without_a_number_type_has_a_number(tmp_path: Path) -> None:
    """The library lists it, without a type, so those behind it are one further."""
    sound = make_hdf4.small(tmp_path).read_bytes()
    tags = struct.pack(">HH", NUMBER_TYPE, DATA)
    assert sound.count(tags) == 4
    path = tmp_path / "x.hdf"
    found = report(sound.replace(tags, struct.pack(">HH", NUMBER_TYPE + 1, DATA), 1), path)
    assert found["d0"] == ("refused", "corrupt", ())
    assert {name: found[name][2] for name in ("d3", "d4", "d5")} == {
        "d3": ("sds/1",),
        "d4": ("sds/2",),
        "d5": ("sds/3",),
    }
    assert differs_from_pyhdf(path, read_all(path)[0]) is None


def test_an_hdf4_file_whose_group_of_datasets_is_damaged_is_no_old_one(tmp_path: Path) -> None:
    """The library reads beyond the record's end and finds the datasets; in an old file they have other names."""
    sound = make_hdf4.small(tmp_path).read_bytes()
    at = sound.index(b"\0\x06CDF0.0")
    found = report(sound[:at] + b"\x03" + sound[at + 1 :], tmp_path / "x.hdf")
    assert {name for name in found if found[name][:2] == ("refused", "corrupt")} >= {"d0", "d3", "d4", "d5"}
    assert not [name for name in found if name.startswith(("Data-Set", "fakeDim"))]


@pytest.mark.parametrize("tag", [NDG, 700])
def test_an_old_hdf4_group_without_a_number_is_none(tag: int, tmp_path: Path) -> None:
    """Zero stands for any number: the library passes over such a group, and counts neither it nor its dimensions."""
    sound = make_hdf4.old_file(tmp_path).read_bytes()
    assert sound.count(tag.to_bytes(2, "big")) == 1  # its descriptor
    at = sound.index(tag.to_bytes(2, "big"))
    path = tmp_path / "x.hdf"
    found = report(sound[: at + 2] + b"\0\0" + sound[at + 4 :], path)
    assert found["Data-Set-0"] == ("refused", "corrupt", ())
    (other,) = {name for name in found if name.startswith("Data-Set-")} - {"Data-Set-0"}
    assert found[other][0] == "virtual"
    assert differs_from_pyhdf(path, read_all(path)[0]) is None
    assert other in read_all(path)[0]
