"""Parquet maps with a sound footer and lies behind it: pages that expand far, sizes and indices that are wrong."""

from __future__ import annotations

import json
import random
import resource
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.documents import zarray
from tests.fuzz.parquet_pages import (
    COMPRESSED,
    I32,
    OF_DATA,
    OF_DICTIONARY,
    TOTAL,
    UNCOMPRESSED,
    ParquetFile,
    mutant,
)

import byteatlas as ba
from byteatlas.errors import ByteatlasError, InvalidMetadata

MIB = 1 << 20


def a_map(folder: Path, *, chunks: int = 4, rows: int | None = None, raw: bytes | None = None, **how: object) -> Path:
    """A map of one array; gives its part file."""
    rows = rows or chunks
    (folder / "x").mkdir(parents=True)
    metadata = {".zgroup": {"zarr_format": 2}, "x/.zarray": zarray([chunks], [1])}
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": max(rows, chunks)}))
    columns = {
        "path": pa.array(["data.bin"] * rows if raw is None else [None] * rows, pa.string()),
        "offset": pa.array(range(rows), pa.int64()), "size": pa.array([1] * rows, pa.int64()),
        "raw": pa.array([raw] * rows, pa.binary()),
    }  # fmt: skip
    pq.write_table(pa.table(columns), folder / "x" / "refs.0.parq", compression="zstd", **how)
    return folder / "x" / "refs.0.parq"


def _read(folder: str) -> tuple[str, int]:
    """What opening and reading says, and the MiB that it took at most."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        manifest(Path(folder))
        said = "read"
    except ByteatlasError as error:
        said = f"{type(error).__name__}: {error}"
    return said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10


def apart(folder: Path) -> tuple[str, int]:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_read, (str(folder),))


def changed(path: Path, change: Callable[[ParquetFile], None]) -> None:
    file = ParquetFile(path.read_bytes())
    change(file)
    path.write_bytes(file.assembled())


def test_pages_that_expand_far_from_what_the_footer_says(tmp_path: Path) -> None:
    """A value of 300 MiB in a file of a few kB, with a total of one byte."""

    def lie(file: ParquetFile) -> None:
        for meta, _ in file.chunks:
            meta[TOTAL] = meta[TOTAL][0], 1

    path = a_map(tmp_path / "m", chunks=1, raw=bytes(300 * MIB))
    changed(path, lie)
    assert path.stat().st_size < MIB
    said, held = apart(tmp_path / "m")
    assert said.startswith("InvalidMetadata")
    assert "more than the limit of 268435456" in said
    assert held < 150


def test_a_large_value_in_very_many_rows_is_held_once(tmp_path: Path) -> None:
    a_map(tmp_path / "m", chunks=20_000, raw=bytes(range(256)) * 1024)
    said, held = apart(tmp_path / "m")
    assert (said, held < 200) == ("read", True)  # 5 GiB, were it not shared


def test_very_many_rows_in_a_small_file(tmp_path: Path) -> None:
    rows = (1 << 24) + 1
    (tmp_path / "m" / "x").mkdir(parents=True)
    metadata = {".zgroup": {"zarr_format": 2}, "x/.zarray": zarray([rows], [1])}
    (tmp_path / "m" / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": rows}))
    zero, nothing = pa.repeat(pa.scalar(0, pa.int64()), rows), pa.nulls(rows, pa.binary())
    table = pa.table({"path": nothing, "offset": zero, "size": zero, "raw": nothing})
    pq.write_table(table, tmp_path / "m" / "x" / "refs.0.parq", compression="zstd")
    said, held = apart(tmp_path / "m")
    assert said.startswith("InvalidMetadata")
    assert f"{rows} rows, record_size is {rows}" in said
    assert held < 100


@pytest.mark.parametrize("value", [0, -1, 1 << 28, (1 << 31) - 1])
@pytest.mark.parametrize("field", [UNCOMPRESSED, COMPRESSED])
@pytest.mark.parametrize("page", [0, 1, 2, 3, 4, 5, 7])  # page 6 is an empty dictionary: no bytes are the truth
def test_headers_of_pages_that_lie(page: int, field: int, value: int, tmp_path: Path) -> None:
    path = a_map(tmp_path / "m")
    changed(path, lambda file: file.pages()[page].header.update({field: (I32, value)}))
    with pytest.raises(InvalidMetadata):
        manifest(tmp_path / "m")


@pytest.mark.parametrize("value", [-1, 3, 5, 1 << 28, (1 << 31) - 1])
@pytest.mark.parametrize("page", range(2, 6))
def test_pages_that_claim_other_numbers_of_values(page: int, value: int, tmp_path: Path) -> None:
    def lie(file: ParquetFile) -> None:
        header = file.pages()[page].header
        header[OF_DATA if OF_DATA in header else OF_DICTIONARY][1][1] = I32, value

    sound = manifest(a_map(tmp_path / "s").parents[1])
    changed(a_map(tmp_path / "m"), lie)
    try:
        found = manifest(tmp_path / "m")
    except InvalidMetadata:
        return
    assert found == sound  # the footer says how many there are


def manifest(folder: Path) -> tuple[list[int], list[int]]:
    tree = ba.load(str(folder))
    assert isinstance(tree, ba.VirtualGroup)
    array = tree["x"]
    assert isinstance(array, ba.VirtualArray)
    found = array.manifest.load()
    return found.offset.tolist(), found.length.tolist()


def test_indices_outside_of_the_dictionary(tmp_path: Path) -> None:
    path = a_map(tmp_path / "m")
    sound = path.read_bytes()
    table = pq.ParquetFile(pa.BufferReader(sound)).read(columns=["path"])
    assert table.num_rows == 4

    def wrong(file: ParquetFile) -> None:
        page = file.pages()[1]
        page.header[COMPRESSED] = I32, len(body)
        page.header[UNCOMPRESSED] = I32, len(plain)
        page.body = body

    plain = bytes((2, 0, 0, 0, 8, 1)) + bytes((8, 8, 200))  # all there; indices of 8 bits: four times 200
    body = pa.compress(plain, "zstd", asbytes=True)
    changed(path, wrong)
    with pytest.raises(InvalidMetadata, match="not a readable Parquet file"):
        manifest(tmp_path / "m")


def test_numbers_anywhere_in_the_structures(tmp_path: Path) -> None:
    path = a_map(tmp_path / "m")
    sound, said = path.read_bytes(), set()
    assert ParquetFile(sound).assembled() == sound
    for case in range(300):
        path.unlink()
        path.write_bytes(mutant(sound, random.Random(case)))
        try:
            said.add(len(manifest(tmp_path / "m")[0]))
        except InvalidMetadata:
            said.add(-1)
    assert said == {4, -1}
