"""Kerchunk's Parquet reference maps, read lazily: opening reads ``.zmetadata``, a chunk reads one part file.

A part file that is absent, cut short or damaged is an error. (fsspec takes its chunks for missing, so that they read
as fill values.)
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, FetchFailed, InvalidMetadata, NotFound, SourceChanged
from byteatlas.io.local import local_path
from byteatlas.io.source import Source
from byteatlas.manifest.json.documents import document, source_infos
from byteatlas.manifest.kinds.sparse import DENSE_LIMIT, SourceTable
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, ChunkManifest, Rows, SourceInfo, VirtualNode, unpickled
from byteatlas.manifest.options import KnownPlace, MapReadOptions
from byteatlas.manifest.parquet.arrow import inline_values, integers, single_chunk, valid_rows
from byteatlas.manifest.parquet.marks import KEY, beside, marks_of
from byteatlas.manifest.parquet.pages import COLUMNS, RATIO, check_expanded, check_types
from byteatlas.manifest.tree import DocumentTree, is_document
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, Buffer, Shape
from byteatlas.values import dataclass

MOST_ROWS = 1 << 24
"""Rows that any part file may have; a large one more, in proportion."""
AT_ONCE = 16
"""Part files of a remote map that are fetched together."""

OpenPart = Callable[[str], Source]
"""Gives the source of a file of the map by its name inside the map's folder."""


def read_parquet(open_part: OpenPart, where: str, options: MapReadOptions) -> VirtualNode:
    """A Parquet reference map as a tree of virtual arrays.

    Raises:
        InvalidMetadata: ``.zmetadata`` is not what it should be.
        FetchFailed: it is not there.
    """
    return ParquetMap(open_part, where, options).tree()


@dataclass(frozen=True, slots=True)
class _Part:
    rows: Rows
    inlined: Mapping[int, bytes]

    @property
    def nbytes(self) -> int:
        columns = self.rows.source.nbytes + self.rows.offset.nbytes + self.rows.length.nbytes
        return columns + sum(map(len, self.inlined.values()))


class _OtherMark(Exception):
    """A part file is not the one that the metadata mean (`byteatlas.manifest.parquet.marks`)."""


class ParquetMap:
    """One Parquet map: its metadata, and the part files read last."""

    def __init__(self, open_part: OpenPart, where: str, options: MapReadOptions) -> None:
        self.where, self.options = where, options
        self._open = open_part
        self._lock = threading.RLock()
        self._parts: OrderedDict[str, _Part] = OrderedDict()
        self._fetched: dict[str, Buffer | FetchFailed] = {}
        whole = self._metadata(bytes(open_part(".zmetadata").read_all()))
        self.table = SourceTable(source_infos(whole.get("byteatlas"), where, options), options.named)
        documents = {
            key: document(value, f"{where}: {key}") for key, value in whole["metadata"].items() if is_document(key)
        }
        if not documents:
            raise InvalidMetadata(where, "no Zarr metadata in the map")
        self.record_size: int = whole["record_size"]
        self.hierarchy = DocumentTree(documents, where)
        self._marks = marks_of(whole, where)

    def _metadata(self, text: bytes) -> Mapping[str, JSON]:
        where = f"{self.where}: .zmetadata"
        try:
            whole = json.loads(text)
        except RecursionError as error:
            raise InvalidMetadata(where, "nested too deeply") from error
        except ValueError as error:
            raise InvalidMetadata(where, f"not JSON ({error})") from error
        if not isinstance(whole, Mapping) or not isinstance(whole.get("metadata"), Mapping):
            raise InvalidMetadata(where, "no member 'metadata'")
        size = whole.get("record_size")
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < 1 << 31:
            raise InvalidMetadata(where, f"record_size {size!r} is not a number of rows")
        return whole

    def tree(self) -> VirtualNode:
        """The tree of virtual arrays, none of whose chunks was looked at yet."""
        return self.hierarchy.build(lambda path, meta: LazyParquet(self, path, meta), self.options.place)

    def _check(self) -> None:
        """Raises `SourceChanged` when the map is not the one that was opened: part files are found by name."""
        if self.options.place is not None:
            self.options.place.check_name()

    def each(self, path: str, numbers: Sequence[int], use: Callable[[int], None]) -> None:
        """Calls for every number; the part files of some are fetched together before the first of them is needed.

        No generator: one that an error leaves behind would keep the lock until somebody clears it away.
        """
        if local_path(self.where) is not None or len(numbers) < 2:
            for number in numbers:
                use(number)
            return
        from concurrent.futures import ThreadPoolExecutor

        def fetched(name: str) -> Buffer | FetchFailed:
            try:
                return self._open(name).read_all()
            except FetchFailed as error:
                return error

        for begin in range(0, len(numbers), AT_ONCE):
            some = numbers[begin : begin + AT_ONCE]
            with self._lock:
                names = [name for name in (part_name(path, n) for n in some) if name not in self._parts]
                with ThreadPoolExecutor(max(len(names), 1)) as threads:
                    self._fetched = dict(zip(names, threads.map(fetched, names), strict=True))
                try:
                    for number in some:
                        use(number)
                finally:
                    self._fetched = {}

    def part(self, path: str, number: int, expected: int) -> _Part:
        """The rows of one part file, which must have at least ``expected``."""
        name = part_name(path, number)
        with self._lock:
            found = self._parts.get(name)
            if found is None:
                found = self._parts[name] = self._read(name, expected)
                while len(self._parts) > self.options.parts:
                    self._parts.popitem(last=False)
            else:
                self._parts.move_to_end(name)
        if len(found.rows.source) < expected:
            raise InvalidMetadata(f"{self.where}/{name}", f"{len(found.rows.source)} rows where {expected} are needed")
        return found

    def kept(self, path: str) -> int:
        """Bytes of the rows that are kept of an array."""
        with self._lock:
            return sum(part.nbytes for name, part in self._parts.items() if is_part_of(name, path))

    def forget(self, path: str) -> None:
        """Keep no part file of an array: they are read again when they are needed."""
        with self._lock:
            for name in [name for name in self._parts if is_part_of(name, path)]:
                del self._parts[name]

    def _read(self, name: str, expected: int) -> _Part:
        mark = self._marks.get(name, "")
        absent: FetchFailed | None = None
        for place in (name, beside(name, mark), name) if mark else (name,):  # it may get its name meanwhile
            try:
                return self._decoded(self._bytes(place), f"{self.where}/{place}", mark)
            except _OtherMark:
                absent = None
            except FetchFailed as error:
                self._check()
                if not error.absent:
                    raise
                absent = error
        if absent is None:
            raise SourceChanged(self.where, "the map", "another one", "rewritten", when="opened")
        if self.options.absent_parts == "missing" and not mark:
            nothing = np.zeros(expected, np.uint64)
            return _Part(Rows(np.full(expected, MISSING, np.int32), nothing, nothing), {})
        why = "no such part file: lost, or left out by fsspec's writer because all of its chunks are missing"
        raise FetchFailed(f"{self.where}/{name}", f"{why} (absent_parts='missing' reads it so)") from absent

    def _bytes(self, name: str) -> Buffer:
        found = self._fetched.pop(name, None)
        if isinstance(found, FetchFailed):
            raise found
        data = self._open(name).read_all() if found is None else found
        self._check()
        return data

    def _decoded(self, data: Buffer, where: str, mark: str) -> _Part:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = check_expanded(memoryview(data), where)
            if rows > max(min(4 * self.record_size, max(MOST_ROWS, RATIO * len(data))), 1 << 20):
                raise InvalidMetadata(where, f"{rows} rows, record_size is {self.record_size}")
            metadata = pq.read_metadata(pa.py_buffer(data))
            if (metadata.metadata or {}).get(KEY, b"") != mark.encode():
                raise _OtherMark
            schema = metadata.schema.to_arrow_schema()
            missing = set(COLUMNS) - set(schema.names)
            if missing:
                raise InvalidMetadata(where, f"no column {', '.join(sorted(missing))}")
            check_types(schema, where)
            file = pq.ParquetFile(pa.py_buffer(data), metadata=metadata, read_dictionary=["path", "raw"])
            table = file.read(columns=list(COLUMNS), use_threads=False)
            table.validate(full=True)  # Arrow looks values up without a look at the bounds
            table = table.combine_chunks()
            columns = {n: single_chunk(table.column(n)) for n in table.column_names}
            return self._rows(columns, where)
        except (pa.ArrowException, OSError, ValueError, OverflowError, KeyError) as error:
            raise InvalidMetadata(where, f"not a readable Parquet file ({error})"[:300]) from error

    def _rows(self, columns: Mapping[str, Any], where: str) -> _Part:
        n = len(columns["path"])
        numbers = self._numbers(columns["path"], where)
        offset, length = integers(columns["offset"], where), integers(columns["size"], where)
        if n and (int(offset.min()) < 0 or int(length.min()) < 0 or bool(((offset + length) < 0).any())):
            raise InvalidMetadata(where, "a negative or impossible byte range")
        starts, sizes = offset.astype(np.uint64), length.astype(np.uint64)
        remote = numbers >= 0
        sizes[remote & (offset == 0) & (length == 0)] = WHOLE
        inlined = inline_values(columns["raw"], where)
        if inlined:
            places = np.fromiter(inlined, np.int64, len(inlined))
            numbers[places] = INLINE
        empty = (numbers >= 0) & (sizes == 0)
        for place in np.flatnonzero(empty).tolist():  # a reference to no bytes is bytes: none
            numbers[place] = INLINE
            inlined[place] = b""
        gone = numbers < 0
        starts[gone], sizes[gone] = 0, 0
        for column in (numbers, starts, sizes):
            column.flags.writeable = False  # rows that are given out may be these
        return _Part(Rows(numbers, starts, sizes), inlined)

    def _numbers(self, column: Any, where: str) -> NDArray[np.int32]:
        import pyarrow as pa

        n = len(column)
        out = np.full(n, MISSING, np.int32)
        if pa.types.is_null(column.type) or not n:
            return out
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values = column.dictionary.to_pylist()
        known = np.array([self._number(v, where) for v in values] or [MISSING], np.int32)
        codes = integers(column.indices, where, nulls=0)
        valid = valid_rows(column.indices)
        return np.where(valid, known[codes], np.int32(MISSING))

    def _number(self, value: object, where: str) -> int:
        if value is None:
            return MISSING
        if isinstance(value, bytes):
            value = value.decode()
        if not isinstance(value, str) or not value:
            raise InvalidMetadata(where, f"not a path: {value!r}")
        return self.table.number(self.options.absolute(value, self.where))


def part_name(path: str, number: int) -> str:
    """The name of an array's part file in the map's folder."""
    return f"{path}/refs.{number}.parq" if path else f"refs.{number}.parq"


def is_part_of(name: str, path: str) -> bool:
    """Whether a part file is one of the array at a path."""
    return name.rpartition("/")[0] == path


def consecutive(places: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Places as a slice where they follow each other: NumPy then copies nothing."""
    first, n = int(places[0]), len(places)
    return slice(first, first + n) if n > 1 and bool((places[1:] - places[:-1] == 1).all()) else places


class LazyParquet:
    """The manifest of one array of a Parquet map."""

    __slots__ = ("_counts", "_map", "_total", "path")

    def __init__(self, of: ParquetMap, path: str, meta: ArrayMeta) -> None:
        self._map, self.path = of, path
        self._counts = chunk_counts(meta.shape, meta.grid)
        self._total = math.prod(self._counts)

    def __reduce__(self) -> tuple[Any, ...]:
        return (unpickled, (self.load(),)) if self.place is None else self.place.reduced_manifest(self.path)

    @property
    def place(self) -> KnownPlace | None:
        return self._map.options.place

    @property
    def grid_shape(self) -> Shape:
        return self._counts

    @property
    def origin(self) -> tuple[str, str]:
        """The map's URL and the array's path in it."""
        return self._map.where, self.path

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far: ask for rows first."""
        return self._map.table.infos

    def _part(self, number: int) -> _Part:
        size = self._map.record_size
        return self._map.part(self.path, number, min(size, self._total - number * size))

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        numbers = chunks // self._map.record_size
        n = len(chunks)
        if n and (int(chunks.min()) < 0 or int(chunks.max()) >= self._total):
            raise NotFound(f"a chunk outside of the grid {self._counts}")
        if n and (numbers == numbers[0]).all():
            part, places = self._part(int(numbers[0])).rows, consecutive(chunks - numbers[0] * self._map.record_size)
            return Rows(part.source[places], part.offset[places], part.length[places])
        source, offset, length = np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.uint64)

        def take(number: int) -> None:
            mine = np.flatnonzero(numbers == number)
            part, places = self._part(number).rows, chunks[mine] - number * self._map.record_size
            source[mine], offset[mine], length[mine] = part.source[places], part.offset[places], part.length[places]

        self._map.each(self.path, np.unique(numbers).tolist(), take)
        return Rows(source, offset, length)

    def kept(self) -> int:
        """Bytes of rows that are in memory (`byteatlas.manifest.kinds.recent`)."""
        return self._map.kept(self.path)

    def forget(self) -> None:
        """Free them."""
        self._map.forget(self.path)

    def inline(self, chunk: int) -> bytes:
        number, place = divmod(chunk, self._map.record_size)
        found = self._part(number).inlined.get(place)
        if found is None:
            raise NotFound(f"chunk {chunk} of {self.path!r} is not inline")
        return found

    def load(self) -> ChunkManifest:
        if self._total > DENSE_LIMIT:
            raise BadRequest(f"a grid of {self._total} chunks is too large to be held in memory")
        size = self._map.record_size
        source, offset = np.empty(self._total, np.int32), np.empty(self._total, np.uint64)
        length = np.empty(self._total, np.uint64)
        inlined: dict[int, bytes] = {}

        def take(number: int) -> None:
            begin = number * size
            part, n = self._part(number), min(size, self._total - begin)
            source[begin : begin + n] = part.rows.source[:n]
            offset[begin : begin + n] = part.rows.offset[:n]
            length[begin : begin + n] = part.rows.length[:n]
            inlined.update((begin + i, data) for i, data in part.inlined.items() if i < n)

        self._map.each(self.path, range(-(-self._total // size)), take)
        return ChunkManifest(self._counts, self.sources, source, offset, length, None, inlined)
