"""Kerchunk's Parquet reference maps, written part by part: ``.zmetadata`` and ``x/refs.N.parq``.

Every chunk of the grid has its row, missing ones too: fsspec takes an absent part file, or GDAL a short one, for
granted or for an error. ``offset`` and ``size`` are required columns with statistics, without which fastparquet would
give floating-point numbers; ``raw`` is binary even where nothing is inline, or GDAL refuses the file.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.io.output import Folder
from byteatlas.manifest.json.write import source_rows
from byteatlas.manifest.kinds.sparse import writable_total
from byteatlas.manifest.model import INLINE, WHOLE, Rows, SourceInfo, VirtualNode
from byteatlas.manifest.options import MapWriteOptions, TellArray
from byteatlas.manifest.parquet.behind import Behind
from byteatlas.manifest.parquet.marks import KEY, own_entry
from byteatlas.manifest.tree import WrittenArray, node_documents
from byteatlas.meta.json_text import json_text
from byteatlas.types import JSON

_DICTIONARY = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("raw", pa.binary()),
    ]
)


def write_parquet(node: VirtualNode, folder: Folder, options: MapWriteOptions, tell: TellArray | None = None) -> None:
    """Write a tree as a Parquet map into a folder; ``.zmetadata`` comes last.

    Raises:
        Unsupported: an array that no metadata version can express.
    """
    documents, arrays = node_documents(node, separator=".")
    seen: dict[str, SourceInfo] = {}
    with Behind(folder, arrays) as sink:
        for number, array in enumerate(arrays):
            if tell is not None:
                tell(array.path, number, len(arrays))
            write_parts(array, sink, options, seen)
    whole: dict[str, JSON] = {"metadata": documents, "record_size": options.record_size}
    table = source_rows(seen, options) if options.sources else None
    whole |= own_entry(table or None, {}, sink.names, sink.mark)
    folder.put(".zmetadata", json_text(whole).encode())


def write_parts(
    array: WrittenArray, sink: Behind, options: MapWriteOptions, seen: dict[str, SourceInfo], unchanged: int = 0
) -> None:
    """Write one array's part files, but those whose rows are all among the first ``unchanged``.

    The sources that are met are added to ``seen``.
    """
    base = f"{array.path}/" if array.path else ""
    total = writable_total(array.manifest.grid_shape)
    sources: tuple[SourceInfo, ...] = ()
    for part, begin in enumerate(range(0, total, options.record_size)):
        if min(begin + options.record_size, total) <= unchanged:
            continue
        chunks = np.arange(begin, min(begin + options.record_size, total), dtype=np.int64)
        rows = array.manifest.rows(chunks)
        if not sources or int(rows.source.max()) >= len(sources):  # tables of sources only grow
            before, sources = len(sources), array.manifest.sources
            seen.update((s.url, s) for s in sources[before:])
        raw = _inline_bytes(array, rows, chunks)
        sink.put(f"{base}refs.{part}.parq", len(chunks), partial(_encode, rows, raw, sources, options, sink.mark))


def _inline_bytes(array: WrittenArray, rows: Rows, chunks: NDArray[np.int64]) -> list[bytes | None] | None:
    """The bytes of each chunk that are written into the map; None when there are none of any chunk."""
    inline = np.flatnonzero((rows.source == INLINE) | ((rows.source >= 0) & (rows.length == 0))).tolist()
    if not inline:
        return None
    raw: list[bytes | None] = [None] * len(chunks)
    for i in inline:
        raw[i] = array.manifest.inline(int(chunks[i])) if rows.source[i] == INLINE else b""
    return raw


def _encode(
    rows: Rows,
    raw: list[bytes | None] | None,
    sources: tuple[SourceInfo, ...],
    options: MapWriteOptions,
    mark: str,
) -> Any:
    """One part file's bytes."""
    n = len(rows.source)
    remote = (rows.source >= 0) & (rows.length != 0)
    placed = remote & (rows.length != WHOLE)
    offset = np.where(placed, rows.offset, np.uint64(0)).astype(np.int64)
    size = np.where(placed, rows.length, np.uint64(0)).astype(np.int64)
    columns = [
        _paths(rows.source, remote, sources, options),
        pa.Array.from_buffers(pa.int64(), n, [None, pa.py_buffer(offset)]),
        pa.Array.from_buffers(pa.int64(), n, [None, pa.py_buffer(size)]),
        pa.nulls(n, pa.binary()) if raw is None else binary_column(raw),
    ]
    schema = SCHEMA.set(0, pa.field("path", _DICTIONARY))
    table = pa.Table.from_arrays(columns, schema=schema)
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(
        out,
        schema,
        compression="zstd",
        use_dictionary=["path"],
        write_statistics=["offset", "size"],
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=n)
        if mark:
            writer.add_key_value_metadata({KEY: mark})
    return memoryview(out.getvalue())


def _paths(
    source: NDArray[np.int32], remote: NDArray[np.bool_], sources: tuple[SourceInfo, ...], options: MapWriteOptions
) -> Any:
    """The path column: dictionary-encoded, null where the chunk lies in no file."""
    n = len(source)
    everywhere = bool(remote.all())
    there = source if everywhere else source[remote]
    if len(sources) > 4 * n:
        used = np.unique(there)
        codes: NDArray[np.int32] = np.searchsorted(used, there).astype(np.int32)
    else:
        flags = np.zeros(len(sources), np.bool_)
        flags[there] = True
        used = np.flatnonzero(flags).astype(np.int32)
        numbers = np.zeros(len(sources), np.int32)
        numbers[used] = np.arange(len(used), dtype=np.int32)
        codes = numbers[there]
    validity = None
    if not everywhere:
        full = np.zeros(n, np.int32)
        full[remote] = codes
        codes = full
        validity = pa.py_buffer(np.packbits(remote, bitorder="little"))
    urls = binary_column([options.shown(sources[i].url).encode() for i in used.tolist()], pa.string())
    indices = pa.Array.from_buffers(pa.int32(), n, [validity, pa.py_buffer(np.ascontiguousarray(codes))])
    return pa.DictionaryArray.from_arrays(indices, urls)


def binary_column(values: list[bytes | None] | list[bytes], kind: Any = None) -> Any:
    """Bytes as an Arrow column, from buffers: `pyarrow.array` would import pandas."""
    ends = np.cumsum([0, *(0 if v is None else len(v) for v in values)], dtype=np.int64)
    if ends[-1] >= 1 << 31:
        raise BadRequest("more than 2 GiB of inline data in one part file; choose a smaller record_size")
    validity = None
    if any(v is None for v in values):
        there = np.fromiter((v is not None for v in values), np.bool_, len(values))
        validity = pa.py_buffer(np.packbits(there, bitorder="little"))
    data = b"".join(v for v in values if v is not None)
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(kind or pa.binary(), len(values), [validity, offsets, pa.py_buffer(data)])
