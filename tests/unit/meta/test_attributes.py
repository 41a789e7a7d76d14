"""Attributes in documents: the forms that xarray takes, words for what JSON cannot say, halves of characters."""

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from xarray.backends.zarr import FillValueCoder

import byteatlas as ba
from byteatlas.manifest.model import VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta import v2, v3, zom
from byteatlas.meta.attributes import KEPT_FILL
from byteatlas.meta.model import ArrayMeta, GroupMeta
from byteatlas.types import JSON

NUMBERS = (-9999.0, 0.0, -0.0, 1e20, math.inf, -math.inf, math.nan, float(np.float32(0.1)))


def strict(data: Any) -> JSON:
    """JSON as its specification has it: without NaN and infinities."""

    def refuse(word: str) -> None:
        raise AssertionError(f"a bare {word}")

    return json.loads(bytes(data).decode(), parse_constant=refuse)


def array(dtype: str, attributes: dict[str, JSON], zarr_format: Any = 3) -> ArrayMeta:
    return ba.array_meta(
        (2,), dtype, compression=(), attributes=attributes, zarr_format=zarr_format, dimension_names=["x"]
    )


def same(a: Any, b: Any) -> bool:
    return bool(a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
@pytest.mark.parametrize("value", NUMBERS)
def test_fill_values_of_version_3_are_what_xarray_writes_and_reads(kind: str, value: float) -> None:
    document = v3.dump_array(array(kind, {"units": "K", "_FillValue": value}))
    written = document["attributes"]["_FillValue"]
    assert written == FillValueCoder.encode(value, np.dtype(kind))
    assert same(FillValueCoder.decode(written, np.dtype(kind)), value)
    assert list(document["attributes"]) == ["units", "_FillValue"]
    strict(json.dumps(document).encode())
    read, _ = v3.parse_array(document)
    assert same(read.attributes["_FillValue"], value)


def test_complex_fill_values_are_pairs() -> None:
    document = v3.dump_array(array("c16", {"_FillValue": [1.5, math.nan]}))
    written = document["attributes"]["_FillValue"]
    found = FillValueCoder.decode(written, np.dtype("c16"))
    assert isinstance(found, complex)
    assert found.real == 1.5
    assert math.isnan(found.imag)
    again = v3.parse_array(document)[0].attributes["_FillValue"]
    assert again[0] == 1.5
    assert math.isnan(again[1])


def test_other_types_get_plain_values() -> None:
    for kind, given, written in [("i2", -1.0, -1), ("i2", [-1], -1), ("u1", 255, 255), ("f4", [7], "AAAAAAAAHEA=")]:
        document = v3.dump_array(array(kind, {"_FillValue": given}))
        found = document["attributes"]["_FillValue"]
        assert (found, type(found)) == (written, type(written))


def test_where_xarray_takes_no_fill_value_it_is_kept_beside() -> None:
    document = v3.dump_array(array("S1", {"_FillValue": " ", "long_name": "flag"}))
    assert document["attributes"] == {KEPT_FILL: " ", "long_name": "flag"}
    assert v3.parse_array(document)[0].attributes == {"_FillValue": " ", "long_name": "flag"}


def test_numbers_that_older_maps_have_stay_numbers() -> None:
    document = v3.dump_array(array("f4", {}))
    for given, read in [(-999, -999), (-1.5, -1.5), ("NaN", math.nan), ("missing", "missing"), ("AAAA", "AAAA")]:
        found = v3.parse_array({**document, "attributes": {"_FillValue": given}})[0].attributes["_FillValue"]
        assert found == read or (found != found and read != read)


def test_words_stand_for_what_json_cannot_say() -> None:
    attributes: dict[str, JSON] = {
        "_FillValue": math.nan, "missing_value": [math.nan, 1.0], "valid_range": [-math.inf, math.inf],
        "deep": {"inner": [[math.nan]]}, "text": "NaN", "count": 3,
    }  # fmt: skip
    for number in (2, 3):
        meta = array("f4", attributes, number)
        document = v3.dump_array(meta) if number == 3 else v2.dump_array(meta)
        strict(json.dumps(document).encode())
        read = v3.parse_array(document)[0] if number == 3 else v2.parse_array(*document)
        found = read.attributes
        assert math.isnan(found["_FillValue"])
        assert math.isnan(found["missing_value"][0])
        assert found["valid_range"] == ["-Infinity", "Infinity"]
        assert found["deep"] == {"inner": [["NaN"]]}
        assert (found["text"], found["count"]) == ("NaN", 3)
    strict(json.dumps([v2.dump_group(GroupMeta(attributes)), v3.dump_group(GroupMeta(attributes, 3))]).encode())


def test_conversion_to_version_2_gives_numbers_and_leaves_the_mask_to_them() -> None:
    encoded = base64.b64encode(struct.pack("<d", -9999.0)).decode()
    document = {**v3.dump_array(array("f4", {})), "attributes": {"_FillValue": encoded}}
    meta, _ = v3.parse_array({**document, "chunk_key_encoding": {"name": "v2"}})
    converted = zom.convert(meta, 2)
    assert isinstance(converted, ArrayMeta)
    zarray, zattrs = v2.dump_array(converted)
    assert zattrs["_FillValue"] == -9999.0
    assert zarray["fill_value"] is None  # xarray would take 0 for the mask


# Copies and maps, as xarray's own engine sees them

DATA = np.array([1, -9999, 0, 9.969209968386869e36], "f4")


def tree(attributes: dict[str, JSON], zarr_format: Any = 2) -> VirtualGroup:
    meta = ba.array_meta(
        (4,), "f4", compression=(), attributes=attributes, zarr_format=zarr_format, dimension_names=["x"],
        fill_value=np.float32(9.969209968386869e36),
    )  # fmt: skip
    whole = VirtualArray(meta, inline_manifest((1,), {0: DATA.tobytes()}))
    return VirtualGroup(GroupMeta({"bad": math.nan}, zarr_format), arrays={"v": whole})


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("masked", [True, False])
def test_copies_open_in_xarray_with_the_masks_of_the_archive(tmp_path: Path, number: Any, masked: bool) -> None:
    ba.copy(tree({"_FillValue": -9999.0} if masked else {}), tmp_path / "z", options=ba.CopyOptions(zarr_format=number))
    for found in (
        xarray.open_zarr(tmp_path / "z", chunks=None),
        xarray.open_dataset(tmp_path / "z", engine="byteatlas"),
    ):
        wanted = np.where(DATA == -9999, np.nan, DATA) if masked else DATA
        assert np.array_equal(found.v.values, wanted, equal_nan=True)
    assert np.array_equal(_values(tmp_path / "z"), DATA)


def _values(where: Path) -> Any:
    root = ba.open(where)
    assert isinstance(root, ba.Group)
    return root.arrays()["v"][...]


def test_a_copy_of_a_store_of_version_2_keeps_its_fill_value(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    ba.create_group(first, "", zarr_format=2)
    made = ba.create_array(first, "v", ba.array_meta((4,), "i4", fill_value=7, zarr_format=2, dimension_names=["x"]))
    made[:2] = 7
    made[2:] = 8
    ba.copy(first, second, options=ba.CopyOptions(zarr_format=2))
    assert json.loads((second / "v" / ".zarray").read_text())["fill_value"] == 7


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_maps_of_version_3_keep_fill_values(tmp_path: Path, suffix: str) -> None:
    where = tmp_path / f"m.{suffix}"
    ba.write(tree({"_FillValue": math.nan}, 3), where)
    documents = (where if suffix == "json" else where / ".zmetadata").read_bytes()
    assert b"AAAAAAAA+H8=" in documents
    assert b"NaN" in documents  # the group's attribute, as a word
    strict(documents)
    found = xarray.open_dataset(where, engine="byteatlas")
    assert math.isnan(found.v.encoding["_FillValue"])
    assert found.v.encoding["_FillValue"].dtype == np.float32


@pytest.mark.parametrize("target", ["json", "parquet", "2", "3"])
def test_halves_of_characters_are_kept(tmp_path: Path, target: str) -> None:
    text = "half \ud83d of a face, and Säo"
    source, where = tree({"title": text}), tmp_path / f"m.{target}"
    if target in "23":
        ba.copy(source, where, options=ba.CopyOptions(zarr_format=3 if target == "3" else 2))
    else:
        ba.write(source, where)
    root = ba.open(where)
    assert isinstance(root, ba.Group)
    assert root.arrays()["v"].attrs["title"] == text


def test_names_of_halves_of_characters_are_refused() -> None:
    bad = VirtualGroup(arrays={"v\ud800": tree({}).arrays["v"]})
    with pytest.raises(ba.BadRequest, match="no node can have this name"):
        ba.copy(bad, {})


def test_minus_zero_as_c_writes_it_keeps_its_sign() -> None:
    store = {
        ".zarray": b'{"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<f4", "fill_value": -0, "order": "C",'
        b' "filters": null, "compressor": null}'
    }
    found = ba.open(store)
    assert isinstance(found, ba.Array)
    assert np.signbit(found[...]).all()
