"""Refusals behind kerchunk's names: each by its class and its words, and nothing of what was given is changed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.documents import zarray
from tests.places import ROOT

from byteatlas.errors import BadRequest, Conflict, NotFound
from byteatlas.kerchunk.combine import MultiZarrToZarr, concatenate_arrays, merge_vars
from byteatlas.kerchunk.fits import process_file
from byteatlas.kerchunk.grib2 import grib_tree, scan_grib
from byteatlas.kerchunk.hdf import SingleHdf5ToZarr
from byteatlas.kerchunk.subchunks import subchunk
from byteatlas.kerchunk.tiff import generate_coords
from byteatlas.kerchunk.utils import dereference_archives, inline_array, rename_target
from byteatlas.kerchunk.zarr import single_zarr


def refs(shape: list[int], chunks: list[int], dtype: str = "<i4", **more: Any) -> dict[str, Any]:
    """References of one array ``x``, all of whose chunks lie one behind the other in one file."""
    size = int(np.dtype(dtype).itemsize * np.prod(chunks))
    counts = [-(-n // c) for n, c in zip(shape, chunks, strict=True)]
    keys = {
        f"x/{'.'.join(map(str, at))}": ["/nowhere/a.bin", i * size, size] for i, at in enumerate(np.ndindex(*counts))
    }
    return {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray(shape, chunks, dtype) | more), **keys}


def test_nothing_to_combine_along() -> None:
    with pytest.raises(BadRequest) as refused:
        MultiZarrToZarr([refs([4], [2])])
    assert str(refused.value) == "say along which dimensions: concat_dims, or coo_map"
    with pytest.raises(BadRequest, match=r"^x is both in coo_map and in identical_dims$"):
        MultiZarrToZarr([refs([4], [2])], concat_dims="x", identical_dims=["x"])


@pytest.mark.parametrize("name", ["null", "leave"])
def test_texts_that_would_be_lost(name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        SingleHdf5ToZarr("a.h5", vlen_encode=name)
    assert str(refused.value) == f"vlen_encode='{name}' gives other values than the file's; take 'embed'"


@pytest.mark.parametrize("value", [3, None, ["a.h5"]])
def test_what_is_no_hdf5_file(value: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        SingleHdf5ToZarr(value)
    assert str(refused.value) == (
        f"h5f is {type(value).__name__}; a path, an open file or an h5py group was expected"
    )  # fmt: skip


def test_extensions_that_a_fits_file_lacks() -> None:
    path = str(next((ROOT / "fixtures" / "fits").glob("*.fits")))
    for wanted in (97, "NOPE", ["NOPE"]):
        with pytest.raises(NotFound, match=r"extension.*(hdu_97|NOPE)"):
            process_file(path, extension=wanted)


def test_grib_messages_are_not_filtered_by_coordinates() -> None:
    path = str(ROOT / "fixtures" / "grib" / "era.grib1")
    with pytest.raises(BadRequest) as refused:
        scan_grib(path, filter={"latitude": 3})
    assert str(refused.value) == "filter: latitude is a coordinate; select it from what byteatlas.scan gives"


def test_a_grib_tree_is_made_of_a_file() -> None:
    with pytest.raises(BadRequest, match=r"^grib_tree takes the GRIB file's path or URL"):
        grib_tree([{"version": 1, "refs": {}}])


OTHERS: Mapping[str, tuple[dict[str, Any], str]] = {
    "shape": (refs([2, 6], [2, 2]), r"Incompatible array shape at index 1. Expected ['*', 4], got [2, 6]"),
    "axes": (refs([2], [2]), r"Incompatible array shape at index 1. Expected ['*', 4], got [2]"),
    "chunks": (refs([2, 4], [2, 1]), r"Incompatible array chunks at index 1. Expected [2, 2], got [2, 1]"),
    "dtype": (refs([2, 4], [2, 2], "<f4"), "Incompatible array dtype at index 1: <i4, <f4"),
    "order": (refs([2, 4], [2, 2], order="F"), "Incompatible array order at index 1: C, F"),
    "fill": (refs([2, 4], [2, 2], fill_value=7), "Incompatible array fill_value at index 1: "),
}


@pytest.mark.parametrize("name", OTHERS)
def test_arrays_that_do_not_follow_each_other(name: str) -> None:
    first = refs([2, 4], [2, 2])
    assert len(concatenate_arrays([first, first], path="x")["refs"]) == 6
    other, words = OTHERS[name]
    with pytest.raises(BadRequest) as refused:
        concatenate_arrays([first, other], path="x")
    assert str(refused.value).startswith(words)


def test_only_the_last_array_may_end_within_a_chunk() -> None:
    whole, part = refs([2, 4], [2, 2]), refs([1, 4], [2, 2])
    assert concatenate_arrays([whole, part], path="x")["refs"]["x/1.0"] == ["/nowhere/a.bin", 0, 16]
    with pytest.raises(
        BadRequest, match=r"^Array at index 0 has irregular chunking at its boundary: only the last may"
    ):
        concatenate_arrays([part, whole], path="x")


def test_an_array_that_a_set_lacks() -> None:
    with pytest.raises(NotFound, match=r"'y'.*x"):
        concatenate_arrays([refs([2], [2])], path="y")
    with pytest.raises(NotFound, match=r"'y'.*x"):
        inline_array(refs([2], [2]), names=["y"])


def test_variables_that_differ() -> None:
    with pytest.raises(Conflict) as refused:
        merge_vars([refs([2], [2]), refs([4], [2])])
    assert "x/.zarray is in two of the sets, and differs" in str(refused.value)
    other = {**refs([2], [2]), ".zgroup": '{"zarr_format": 2}', ".zattrs": '{"a":1}'}
    assert merge_vars([{**refs([2], [2]), ".zattrs": "{}"}, other])["refs"][".zattrs"] == '{"a":1}'


@pytest.mark.parametrize(("text", "words"), [
    (b"{", r"m\.json is no JSON \("), (b"[]", r"m\.json holds no references$"), (b"3", r"m\.json holds no references$"),
])  # fmt: skip
def test_files_that_hold_no_references(tmp_path: Path, text: bytes, words: str) -> None:
    path = tmp_path / "m.json"
    path.write_bytes(text)
    with pytest.raises(BadRequest, match=words):
        merge_vars([str(path)])


@pytest.mark.parametrize("more", [{"compressor": {"id": "zlib", "level": 1}}, {"filters": [{"id": "shuffle"}]},
                                  {"order": "F"}])  # fmt: skip
def test_chunks_whose_parts_do_not_lie_together(more: dict[str, Any]) -> None:
    assert len(subchunk(refs([8], [4]), "x", 2)) == 6
    with pytest.raises(BadRequest) as refused:
        subchunk(refs([8], [4], **more), "x", 2)
    assert str(refused.value) == "x is compressed, or lies column by column: its chunks cannot be cut"


def test_chunks_that_have_no_such_parts() -> None:
    given = refs([8], [4])
    with pytest.raises(BadRequest, match=r"^x/1 is in the references: nothing to cut$"):
        subchunk({**given, "x/1": "base64:AAAA"}, "x", 2)
    with pytest.raises(BadRequest, match=r"^x/1 has 15 bytes, which are not 2 equal parts$"):
        subchunk({**given, "x/1": ["/nowhere/a.bin", 16, 15]}, "x", 2)
    with pytest.raises(BadRequest, match=r"^chunks of \[4\] cannot be cut into 3 equal parts$"):
        subchunk(given, "x", 3)


@pytest.mark.parametrize("name", ["ModelPixelScale", "ModelTiepoint"])
def test_pixels_that_lie_nowhere(name: str) -> None:
    tags = {"ModelPixelScale": [2.0, 3.0, 0.0], "ModelTiepoint": [0.0, 0.0, 0.0, 10.0, 20.0, 0.0]}
    assert generate_coords(tags, (2, 2))["x"].tolist() == [11.0, 13.0]
    del tags[name]
    with pytest.raises(BadRequest) as refused:
        generate_coords(tags, (2, 2))
    assert str(refused.value) == f"no {name}: pixels are not upright, or nothing says where they lie"


def test_ranges_beyond_a_member(tmp_path: Path) -> None:
    """The bytes behind a member belong to the archive's next one."""
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("a.bin", bytes(8))
        archive.writestr("b.bin", bytes(8))
    path = tmp_path / "a.zip"
    path.write_bytes(text.getvalue())
    member = f"zip://a.bin::{path}"
    assert dereference_archives({"x/0": [member, 4, 4]})["x/0"][2] == 4
    with pytest.raises(BadRequest) as refused:
        dereference_archives({"x/0": [member, 4, 5]})
    assert str(refused.value) == f"x/0 reaches beyond the member 'a.bin' of {path}"


@pytest.mark.parametrize("text", [None, "{", "[]", '{"zarr_format":3}'])
def test_stores_that_are_no_group_of_version_2(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / ".zgroup").write_text(text)
    with pytest.raises(BadRequest) as refused:
        single_zarr(str(tmp_path))
    assert str(refused.value) == "no group of Zarr version 2; open others with byteatlas.load"


@pytest.mark.parametrize("renames", [None, 3, ["a", "b"], {"a": 3}, {3: "a"}])
def test_renames_that_are_none(renames: Any) -> None:
    with pytest.raises(BadRequest, match=r"^renames is a dict from old URLs to new ones$"):
        rename_target(refs([2], [2]), renames)
