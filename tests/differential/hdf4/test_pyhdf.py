"""HDF4 against pyhdf: each number type in each way to store it, old files, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.hdf4.make_hdf4 import everything, granule, old_file, scales_file, tables

import byteatlas as ba

pytest.importorskip("pyhdf")
from pyhdf.HDF import HC, HDF
from pyhdf.SD import SD
from pyhdf.VS import VS  # noqa: F401  (gives HDF its `vstart`)


def test_every_type_and_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pyhdf cannot read (little endian, szip where it has none) is compared with what was written."""
    path, written = everything(tmp_path)
    monkeypatch.chdir(tmp_path)  # the library looks for external files there
    root: Any = ba.open(ba.scan(path, on_refusal="ignore"))
    file = SD(str(path))
    compared = 0
    for number in range(file.info()[0]):
        dataset = file.select(number)
        name = dataset.info()[0]
        if name == "c":
            continue
        ours = root[name][...]
        if name in written and "gaps" not in name:
            np.testing.assert_array_equal(ours, written[name], name)
        if name.startswith(("little", "szip")):
            continue
        theirs = np.asarray(dataset.get()).reshape(ours.shape)
        np.testing.assert_array_equal(ours, theirs.view("S1") if ours.dtype.kind == "S" else theirs, name)
        compared += 1
    assert compared > 140


def test_verify_finds_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = everything(tmp_path)
    monkeypatch.chdir(tmp_path)
    for file in (path, old_file(tmp_path), tables(tmp_path), granule(tmp_path, 1)):
        counts = ba.verify(file).counts
        assert counts.get("equal", 0) > 0, file
        assert not {"different", "error", "damaged"} & counts.keys(), ba.verify(file)


def test_numbers_of_old_datasets(tmp_path: Path) -> None:
    """A dimension without values, but with texts, is no dataset; the library counts as the report does."""
    path = old_file(tmp_path)
    found = ba.scan(path, on_refusal="ignore")
    file = SD(str(path))
    for item in found.report:
        number = int(item.locators[0].removeprefix("sds/"))
        assert file.select(number).info()[0] == item.path
        if item.status == "virtual":
            ours: Any = ba.open(found)
            np.testing.assert_array_equal(ours[item.path][...], file.select(number).get())
    assert file.info()[0] == len(found.report)


@pytest.mark.parametrize("kind", ["i2", "f4", "f8"])
@pytest.mark.parametrize("flags", [b"\0\1", b"\1\0", b"\0\0"])
@pytest.mark.parametrize("count", [4, 12])
def test_dimensions_without_values(tmp_path: Path, kind: str, flags: bytes, count: int) -> None:
    """The library reads the record of scales from its beginning, and fails where that is too short: so do we."""
    path = scales_file(tmp_path, flags, np.arange(1, count + 1).astype(f">{kind}").tobytes(), kind)
    found = ba.scan(path, on_refusal="ignore")
    root: Any = ba.open(found)
    file = SD(str(path))
    assert [item.path for item in found.report] == [file.select(i).info()[0] for i in range(3)]
    for number, item in enumerate(found.report):
        try:
            theirs = np.asarray(file.select(number).get())
        except ValueError:
            assert (item.status, item.reason) == ("refused", "never-written")
        else:
            np.testing.assert_array_equal(root[item.path][...], theirs)


def test_tables_of_pyhdf(tmp_path: Path) -> None:
    """One of them without records, of which the library cannot find the first."""
    path = tmp_path / "tables.hdf"
    file = HDF(str(path), HC.WRITE | HC.CREATE)
    tables = file.vstart()
    empty = tables.create("empty", [("a", HC.INT32, 1)])
    empty.detach()
    mixed = tables.create("mixed", [("text", HC.CHAR8, 5), ("n", HC.UINT16, 1), ("v", HC.FLOAT32, 2)])
    mixed.write([["hello", 60000, [1.0, 2.0]], ["wor", 4, [3.0, 4.0]]])
    mixed.detach()
    tables.end()
    file.close()
    checked = ba.verify(path)
    assert checked.ok, checked
    assert checked.counts["equal"] == 2
    root: Any = ba.open(ba.scan(path))
    assert root["empty"].shape == (0,)
    assert [[bytes(row["text"]), int(row["n"]), *row["v"].tolist()] for row in root["mixed"][...]] == [
        [b"hello", 60000, 1.0, 2.0],
        [b"wor", 4, 3.0, 4.0],
    ]
