"""Parquet maps in all the shapes that other writers give them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.documents import zarray
from tests.maps import array, references

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.errors import FetchFailed, InvalidMetadata
from byteatlas.manifest.model import Inline, Remote, VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.references import read_references, write_references
from byteatlas.types import ByteRange

ZARRAY = zarray([5], [1], "|u1")
PATHS = ["s3://b/a", None, "s3://b/b", None, "s3://b/a"]
OFFSETS, SIZES = [10, 0, 0, 0, 2**40], [3, 0, 0, 0, 1]
RAWS = [None, b"\x07", None, None, None]
EXPECTED = {
    (0,): Remote("s3://b/a", ByteRange(10, 3)),
    (1,): Inline(b"\x07"),
    (2,): Remote("s3://b/b", None),
    (4,): Remote("s3://b/a", ByteRange(2**40, 1)),
}


def make(folder: Path, columns: dict[str, Any], rows: int, zmetadata: dict[str, Any] | None = None, **how: Any) -> Path:
    (folder / "g" / "x").mkdir(parents=True)
    documents = {".zgroup": {"zarr_format": 2}, "g/.zgroup": {"zarr_format": 2}, "g/x/.zarray": ZARRAY}
    whole = zmetadata or {"metadata": documents, "record_size": rows}
    (folder / ".zmetadata").write_text(json.dumps(whole))
    pq.write_table(pa.table(columns), folder / "g" / "x" / "refs.0.parq", **how)
    return folder


def check(folder: Path, expected: Any) -> None:
    node = read_references(folder)
    assert isinstance(node, VirtualGroup)
    assert references(node.groups["g"].arrays["x"]) == expected


def pad(values: list[Any], rows: int, filler: Any) -> list[Any]:
    return values + [filler] * (rows - len(values))


@pytest.mark.parametrize("rows", [5, 100])
@pytest.mark.parametrize("path", ["string", "large_string", "int8 dictionary", "int32 dictionary", "binary"])
@pytest.mark.parametrize("number", ["required", "optional", "int32", "uint64", "double", "null"])
def test_column_types(tmp_path: Path, rows: int, path: str, number: str) -> None:
    paths, sizes, raws = pad(PATHS, rows, None), pad(SIZES, rows, 0), pad(RAWS, rows, None)
    offsets: list[Any] = list(OFFSETS)
    expected = dict(EXPECTED)
    if number == "int32":
        offsets[4] = 77
        expected[4,] = Remote("s3://b/a", ByteRange(77, 1))
    offsets = pad(offsets, rows, 0)
    kinds = {"int32": pa.int32(), "uint64": pa.uint64(), "double": pa.float64()}
    kind = kinds.get(number, pa.int64())
    if number == "null":  # as pandas leaves numbers of rows without a path
        offsets = [None if p is None else o for p, o in zip(paths, offsets, strict=True)]
        sizes = [None if p is None else s for p, s in zip(paths, sizes, strict=True)]
    text: Any = pa.array(paths, pa.large_string() if path == "large_string" else pa.string())
    if "dictionary" in path:
        text = text.dictionary_encode().cast(pa.dictionary(pa.int8() if "int8" in path else pa.int32(), pa.string()))
    if path == "binary":
        text = pa.array([None if p is None else p.encode() for p in paths], pa.binary())
    schema = pa.schema(
        [
            pa.field("path", text.type),
            pa.field("offset", kind, nullable=number != "required"),
            pa.field("size", kind, nullable=number != "required"),
            pa.field("raw", pa.binary()),
        ]
    )
    table = pa.Table.from_arrays(
        [text, pa.array(offsets, kind), pa.array(sizes, kind), pa.array(raws, pa.binary())], schema=schema
    )
    check(make(tmp_path / "m", {n: table.column(n) for n in table.column_names}, rows), expected)


@pytest.mark.parametrize("column", ["offset", "size"])
def test_numbers_that_no_file_has(tmp_path: Path, column: str) -> None:
    columns = {"path": PATHS, "offset": OFFSETS, "size": SIZES, "raw": pa.array(RAWS, pa.binary())}
    columns[column] = pa.array([2**63, None, 0, None, 1], pa.uint64())
    with pytest.raises(InvalidMetadata):
        check(make(tmp_path / "m", columns, 5), {})


@pytest.mark.parametrize("raw", ["null", "string", "large_binary"])
def test_inline_column_types(tmp_path: Path, raw: str) -> None:
    raws = {
        "null": pa.nulls(5),
        "string": pa.array([None, "\x07", None, None, None], pa.string()),
        "large_binary": pa.array(RAWS, pa.large_binary()),
    }[raw]
    columns = {"path": PATHS, "offset": OFFSETS, "size": SIZES, "raw": raws}
    expected = {k: v for k, v in EXPECTED.items() if raw != "null" or k != (1,)}
    check(make(tmp_path / "m", columns, 5), expected)


def test_all_paths_null(tmp_path: Path) -> None:
    columns = {"path": pa.nulls(5), "offset": [0] * 5, "size": [0] * 5, "raw": RAWS}
    check(make(tmp_path / "m", columns, 5), {(1,): EXPECTED[1,]})


@pytest.mark.parametrize("how", [{"compression": "none"}, {"compression": "snappy"}, {"row_group_size": 2}])
def test_how_the_file_is_written(tmp_path: Path, how: dict[str, Any]) -> None:
    columns = {"path": PATHS, "offset": OFFSETS, "size": SIZES, "raw": pa.array(RAWS, pa.binary())}
    check(make(tmp_path / "m", columns, 5, **how), EXPECTED)


def test_columns_in_another_order_and_more_of_them(tmp_path: Path) -> None:
    raw = pa.array(RAWS, pa.binary())
    columns = {"raw": raw, "__index_level_0__": list(range(5)), "size": SIZES, "offset": OFFSETS, "path": PATHS}
    check(make(tmp_path / "m", columns, 5), EXPECTED)


def test_what_we_write_is_what_kerchunk_and_gdal_expect(tmp_path: Path) -> None:
    refs = {(0,): ("s3://b/a", 10, 3), (2,): b"\x07", (3,): ("s3://b/whole",)}
    tree = VirtualGroup(arrays={"x": array((5,), (1,), "|u1", references=refs), "s": array((), (), "|u1")})
    write_references(tree, tmp_path / "m.parquet")
    file = pq.ParquetFile(tmp_path / "m.parquet" / "x" / "refs.0.parq")
    assert [(c.name, c.physical_type, c.max_definition_level) for c in (file.schema.column(i) for i in range(4))] == [
        ("path", "BYTE_ARRAY", 1),
        ("offset", "INT64", 0),
        ("size", "INT64", 0),
        ("raw", "BYTE_ARRAY", 1),
    ]
    assert file.num_row_groups == 1
    assert file.metadata.num_rows == 5
    group = file.metadata.row_group(0)
    for i in (1, 2):  # without these fastparquet gives floating-point numbers
        assert group.column(i).statistics.null_count == 0
    table = file.read().to_pydict()
    assert table["path"] == ["s3://b/a", None, None, "s3://b/whole", None]
    assert table["offset"] == [10, 0, 0, 0, 0]
    assert table["size"] == [3, 0, 0, 0, 0]
    assert table["raw"] == [None, None, b"\x07", None, None]
    document = json.loads((tmp_path / "m.parquet" / ".zmetadata").read_text())
    assert document["record_size"] == 100_000
    assert all(isinstance(v, dict) for v in document["metadata"].values())
    assert (tmp_path / "m.parquet" / "s" / "refs.0.parq").is_file()
    empty = VirtualGroup(arrays={"x": array((5,), (1,), references={})})
    write_references(empty, tmp_path / "e.parquet")
    assert pq.ParquetFile(tmp_path / "e.parquet" / "x" / "refs.0.parq").schema_arrow.field("raw").type == pa.binary()


def test_reading_and_writing_imports_no_pandas(tmp_path: Path) -> None:
    """pandas costs a fifth of a second, more than a map of a million references."""
    import subprocess
    import sys

    write_references(VirtualGroup(arrays={"x": array((5,), (1,), references={(0,): b"abc"})}), tmp_path / "m.parquet")
    code = (
        "import sys; from byteatlas.manifest.references import read_references, write_references as w\n"
        f"n = read_references({str(tmp_path / 'm.parquet')!r}); n.arrays['x'].manifest.load()\n"
        f"w(n, {str(tmp_path / 'o.parquet')!r}); w(n, {str(tmp_path / 'o.json')!r})\n"
        f"read_references({str(tmp_path / 'o.json')!r}).arrays['x'].manifest.load()\n"
        "assert not {'pandas', 'zarr', 'xarray', 'jinja2', 'pyarrow.dataset'} & set(sys.modules), sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_that_are_not_there_can_be_read_as_missing_chunks(tmp_path: Path) -> None:
    data = tmp_path / "a.bin"
    data.write_bytes(np.arange(6, dtype="<i4").tobytes())
    refs = {
        ".zgroup": '{"zarr_format": 2}',
        "x/.zarray": '{"zarr_format": 2, "shape": [6], "chunks": [1], "dtype": "<i4", "compressor": null, '
        '"filters": null, "fill_value": -1, "order": "C"}',
        "x/.zattrs": "{}",
        **{f"x/{i}": [str(data), 4 * i, 4] for i in (0, 1, 4, 5)},
    }
    node = read_references(refs)
    write_references(node, tmp_path / "m.parquet", options=MapWriteOptions(record_size=2))
    (tmp_path / "m.parquet" / "x" / "refs.1.parq").unlink()
    root: Any = ba.open(tmp_path / "m.parquet")
    with pytest.raises(FetchFailed, match="absent_parts"):
        root["x"][...]
    lenient: Any = ba.open(tmp_path / "m.parquet", absent_parts="missing")
    assert lenient["x"][...].tolist() == [0, 1, -1, -1, 4, 5]
    arguments = [str(tmp_path / "m.parquet"), str(tmp_path / "whole.parquet"), "--absent-parts", "missing"]
    assert run(["convert", *arguments]) == 0
    whole: Any = ba.open(tmp_path / "whole.parquet")
    assert whole["x"][...].tolist() == [0, 1, -1, -1, 4, 5]
    assert run(["copy", arguments[0], str(tmp_path / "s.zarr"), "--absent-parts", "missing"]) == 0
    stored: Any = ba.open(tmp_path / "s.zarr")
    assert stored["x"][...].tolist() == [0, 1, -1, -1, 4, 5]
