"""HDF4 against pyhdf: each number type in each way to store it, old files, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.hdf4.make_hdf4 import everything, granule, old_file, tables

import byteatlas as ba

pytest.importorskip("pyhdf")
from pyhdf.SD import SD


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
