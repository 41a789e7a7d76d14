"""Every HDF5 datatype: what the scanner and the codecs give is what h5py reads."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import numpy as np
import pytest
from tests.hdf5_reading import plain, read_array, same, scan_file
from tests.places import FIXTURES, load_program

import byteatlas as ba
from byteatlas.manifest.model import VirtualArray

HDF5 = FIXTURES / "hdf5"
FILE = HDF5 / "types.h5"
UNREADABLE = {"opaque"}
"""h5py does not convert opaque data with a tag of its own; its bytes are compared."""


def maker(name: str) -> ModuleType:
    return load_program(HDF5 / f"{name}.py")


make_types = maker("make_types")


@cache
def scanned() -> Any:
    return scan_file(FILE)


def array_of(name: str) -> VirtualArray:
    group, _ = scanned()
    refused = [item for item in group.report if item.path == name and item.status == "refused"]
    assert not refused, refused
    found = group[name]
    assert isinstance(found, VirtualArray)
    return found


@pytest.mark.parametrize("name", [name for name, _ in make_types.types()])
def test_fixed_size_types_read_as_h5py_reads_them(name: str) -> None:
    got = read_array(array_of(name), scanned()[1])
    if name in UNREADABLE:
        kind = dict(make_types.types())[name]
        assert got.tobytes() == make_types.values(name, kind).tobytes()
        return
    with h5py.File(FILE) as file:
        want = file[name][()]
    assert same(got, want), (got, want)


VARIABLE = [
    "vlen_scalar", "vlen_text", "vlen_text_lzf", "vlen_text_gzip", "vlen_text_unwritten", "vlen_text_empty",
    "vlen_bytes", "vlen_floats", "vlen_nested", "vlen_in_compound",
]  # fmt: skip


@pytest.mark.parametrize("name", VARIABLE)
def test_variable_length_data_is_in_the_map(name: str) -> None:
    array = array_of(name)
    got = read_array(array, b"")
    with h5py.File(FILE) as file:
        want = file[name][()]
    assert got.shape == np.shape(want)
    assert plain(got) == plain(want)


def test_text_that_is_not_utf8_becomes_byte_strings() -> None:
    assert array_of("vlen_bytes").meta.data_type.name == "bytes"
    assert array_of("vlen_text").meta.data_type.name == "string"


def test_references_are_paths() -> None:
    assert read_array(array_of("references"), b"").tolist() == ["/int_I8LE", "/", ""]


def test_attributes() -> None:
    found = scanned()[0].attributes
    assert np.isnan(found["nan"])
    assert found["inf"] == -np.inf
    assert found["float32"] == float(np.float32(0.1))
    assert (found["int64"], found["uint64"], found["int8"]) == (-(2**62) - 1, 2**63 + 1, -3)
    assert (found["one"], found["row"], found["table"]) == (5, [0, 1, 2], [[1.0, 0.0], [0.0, 1.0]])
    assert (found["bool"], found["bools"], found["complex"]) == (True, [True, False], [1.0, -2.0])
    assert (found["text"], found["texts"]) == ("Größe", ["a", "", "ccc"])
    assert (found["fixed"], found["fixeds"], found["latin1"]) == ("abc", ["x", "yy"], "20 °C")
    assert (found["empty"], found["empty_text"], found["none"]) == (None, "", [])
    assert found["record"] == {"a": 1, "b": 2.5, "c": "q"}
    assert found["records"] == [{"a": 1, "b": 2.5}, {"a": 3, "b": 4.5}]
    assert (found["reference"], found["region"]) == ("/int_I8LE", "/int_I8LE")
    assert found["sequence"] == [[0, 1, 2], [0]]
    assert (found["opaque"], found["enum"]) == ("AP8B", 1)
    with h5py.File(FILE) as file:
        assert set(found) == set(file.attrs)


def test_types_of_attributes_survive_json() -> None:
    found = scanned()[0].attributes
    assert type(found["bool"]) is bool
    assert type(found["one"]) is int
    assert type(found["float32"]) is float


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_every_type_survives_a_reference_map(tmp_path: Path, suffix: str) -> None:
    group, _ = scanned()
    moved = ba.scan(str(FILE))
    assert set(moved.arrays) == set(group.arrays)
    target = str(tmp_path / f"types.{suffix}")
    ba.write(moved, target)
    root: Any = ba.open(target)
    with h5py.File(FILE) as file:
        for name in file:
            if name in UNREADABLE or name == "references":
                continue
            got, want = root[name][...], file[name][()]
            assert np.shape(got) == np.shape(want), name
            assert plain(got) == plain(want), name
