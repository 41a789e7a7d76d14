"""Every codec of ours is one of zarr-python's too: the table and the entry points say the same."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import tomllib
from typing import Any

import pytest
from tests.places import ROOT

from byteatlas.codecs.core.contract import ArrayCodec, ByteCodec, Serializer
from byteatlas.codecs.core.table import BUILTIN
from byteatlas.importing import object_named
from byteatlas.meta.encodings import NAME as ENCODINGS

pytest.importorskip("zarr")

from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec

from byteatlas.zarr_codecs import chunks, second

POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
OURS = sorted(name for name in BUILTIN if name.startswith("byteatlas."))
KINDS = {ArrayArrayCodec: ArrayCodec, ArrayBytesCodec: Serializer, BytesBytesCodec: ByteCodec}


def test_all_of_the_table_are_registered() -> None:
    assert set(POINTS["zarr.codecs"]) == {*OURS, ENCODINGS}


@pytest.mark.parametrize("name", OURS)
def test_kind_is_that_of_our_codec(name: str) -> None:
    """The class for zarr-python has the place in a chain that our codec has."""
    made: Any = object_named(POINTS["zarr.codecs"][name])
    assert made.name == name
    kind = next(k for k in KINDS if issubclass(made, k))
    returned = inspect.get_annotations(object_named(BUILTIN[name].target)).get("return")
    module = sys.modules[object_named(BUILTIN[name].target).__module__]
    ours: Any = getattr(module, str(returned), None)
    if ours is not None:
        wanted = {ArrayCodec: "bind_array", Serializer: "bind_serializer", ByteCodec: "bind_bytes"}[KINDS[kind]]
        assert hasattr(ours, wanted), (name, returned)


def test_classes_can_be_pickled() -> None:
    made = pickle.loads(pickle.dumps(chunks.Grib2))
    assert made is chunks.Grib2
    again = pickle.loads(pickle.dumps(object_named(POINTS["zarr.codecs"]["byteatlas.hdf5-blosc2"])({})))
    assert again.to_dict() == {"name": "byteatlas.hdf5-blosc2", "configuration": {}}


def test_numcodecs_entry_points() -> None:
    for name, place in POINTS["numcodecs.codecs"].items():
        assert object_named(place).codec_id == name
    own = {name for name, place in POINTS["numcodecs.codecs"].items() if place.startswith("byteatlas")}
    assert own == set(second.NAMES)


def test_unknown_attributes() -> None:
    for module in (chunks, second):
        with pytest.raises(AttributeError):
            _ = module.NoSuchCodec


def test_nothing_of_zarr_is_imported_before_it_asks() -> None:
    code = "import sys, byteatlas.zarr_codecs, byteatlas as ba; ba.scan, ba.open; sys.exit('zarr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
