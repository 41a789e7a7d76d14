"""From the entries of a JSON map to every array's columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata
from byteatlas.manifest.json.keys import check_stray, keys_begin_with, position, raw_prefix, run_with_prefix
from byteatlas.manifest.json.parsed_rows import EntryLayout, entry_layout, three_columns
from byteatlas.manifest.json.templates.generate import Generated, KeyPattern, Single
from byteatlas.manifest.json.text.intern import distinct_slices, intern_urls
from byteatlas.manifest.json.text.numbers import grid_positions, two_numbers
from byteatlas.manifest.json.text.reader import unescape
from byteatlas.manifest.json.text.small_numbers import SMALL_BATCH, slices, small_pairs, small_positions
from byteatlas.manifest.json.text.tokens import Entries
from byteatlas.manifest.json.values import LARGEST, parse_reference
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.model import WHOLE
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.tree import DocumentTree, is_document, key_prefix
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import dataclass


class MapText(Protocol):
    """What is known of a map when its entries become columns."""

    where: str
    options: MapReadOptions
    table: SourceTable
    hierarchy: DocumentTree

    def meta(self, path: str) -> ArrayMeta: ...

    def url(self, raw: str) -> str:
        """A URL as it is meant."""
        ...


@dataclass(frozen=True, slots=True)
class _Rows:
    """A batch of list entries, their numbers parsed."""

    entries: Entries
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Owner:
    """An array, what its chunk keys begin with, and how that is spelled in the text."""

    path: str
    prefix: str
    mark: bytes


class ColumnSink:
    """Collects every array's rows."""

    def __init__(self, of: MapText) -> None:
        self._map = of
        self.collectors: dict[str, Collector] = {}
        self._prefixes: dict[str, str] = {}
        self._scalars: dict[str, str] = {}
        self._urls: dict[bytes, int] = {}
        for path in of.hierarchy.arrays:
            meta = of.meta(path)
            counts = chunk_counts(meta.shape, meta.grid)
            self.collectors[path] = Collector(counts, f"{of.where}: {path or '/'}")
            prefix = key_prefix(path, meta.keys, len(counts))
            if counts:
                self._prefixes[prefix] = path
            else:
                self._scalars[prefix + meta.keys.suffix] = path
                if meta.keys.kind == "v2":  # VirtualiZarr wrote scalars under "x/"
                    self._scalars[prefix[:-1]] = path

    def source_number(self, url: str) -> int:
        """The number of a source by its URL as the map spells it."""
        return self._map.table.number(self._map.url(url))

    def patterns(self) -> list[KeyPattern]:
        """The arrays, as generated keys may name them."""
        found = []
        for path, collector in self.collectors.items():
            keys = self._map.meta(path).keys
            prefix = key_prefix(path, keys, len(collector.grid_shape))
            found.append(KeyPattern(path, prefix, keys.separator, keys.suffix, collector.grid_shape))
        return found

    def generated(self, item: Generated | Single) -> None:
        """Take generated references."""
        match item:
            case Single(key, value):
                self.other(key, value, 0, 0)
            case Generated():
                absolute = self._map.options.absolute
                numbers = [self._map.table.number(absolute(u, self._map.where)) for u in item.urls]
                source = np.array(numbers, np.int32)[item.url]
                length = np.full(len(source), WHOLE) if item.length is None else item.length.astype(np.uint64)
                self.collectors[item.path].add(item.chunk, source, item.offset.astype(np.uint64), length)

    def _owner(self, key: str) -> tuple[str, str] | None:
        """The array that a chunk key belongs to, and the prefix of its keys."""
        if key in self._scalars:
            return self._scalars[key], key
        cut = len(key)
        while cut > 0:
            cut = max(key.rfind("/", 0, cut), key.rfind("c.", 0, cut) + 1 if "c." in key[:cut] else -1)
            if cut < 0:
                break
            if key[: cut + 1] in self._prefixes:
                return self._prefixes[key[: cut + 1]], key[: cut + 1]
        return (self._prefixes[""], "") if "" in self._prefixes else None

    def lists(self, entries: Entries) -> None:
        numbers = intern_urls(entries, self._urls, self._number)
        pairs = (
            small_pairs(slices(entries.data, entries.tail, entries.tail_end)) if len(entries) <= SMALL_BATCH else None
        )
        if pairs is None:
            offset, length, good = two_numbers(entries.view, entries.tail, entries.tail_end)
        else:
            (offset, length), good = pairs, np.ones(len(entries), np.bool_)
        whole = entries.tail_end == entries.tail
        length[whole] = WHOLE
        bad = ~good & ~whole
        end = offset + np.where(whole, np.uint64(0), length)
        bad |= (offset > LARGEST) | (end > LARGEST)
        if bad.any():
            self._complain(entries, int(np.argmax(bad)))
        rows = _Rows(entries, numbers, offset, length)
        at = runs = 0
        while at < len(entries):
            if runs >= 16 and at < 16 * runs:  # arrays take turns
                self._grouped(rows, at)
                return
            at = self._run(rows, at)
            runs += 1

    def _number(self, raw: bytes) -> int:
        return self.source_number(unescape(raw, self._map.where))

    def _complain(self, entries: Entries, i: int) -> None:
        key = entries.data[entries.key[i] : entries.key_end[i]]
        text = entries.data[entries.value[i] - 1 : entries.tail_end[i]]
        raise InvalidMetadata(self._map.where, f"{key[:80]!r}: not a reference: [{text[-120:]!r}]")

    def _run(self, rows: _Rows, at: int) -> int:
        """Take the entries from ``at`` on that belong to one array; where the next run begins."""
        found = self._owner_of(rows.entries, at)
        if found is None:
            return at + 1  # a key that belongs to no array says nothing
        stop = at + 1 if self._is_scalar(found) else run_with_prefix(rows.entries, at, found.mark)
        self._place(rows, slice(at, stop), found)
        return stop

    def _owner_of(self, entries: Entries, i: int) -> _Owner | None:
        raw = entries.data[entries.key[i] : entries.key_end[i]]
        key = unescape(raw, self._map.where)
        owner = self._owner(key)
        return None if owner is None else _Owner(*owner, raw_prefix(raw, key, owner[1]))

    def _is_scalar(self, owner: _Owner) -> bool:
        return not self.collectors[owner.path].grid_shape

    def _grouped(self, rows: _Rows, at: int) -> None:
        """Take the entries from ``at`` on, sorted by array: by all of the key up to its last slash, to be exact."""
        entries = rows.entries
        key, end = entries.key[at:], entries.key_end[at:]
        slashes = np.flatnonzero(entries.view == ord("/"))
        last = np.searchsorted(slashes, end) - 1
        cut = np.maximum(np.where(last >= 0, slashes[last] + 1, 0), key) if len(slashes) else key
        codes, distinct = distinct_slices(entries.data, key, cut)
        _, first = np.unique(codes, return_index=True)
        owners: dict[_Owner, int] = {}
        group = np.full(len(distinct), -1, np.int64)
        for code, i in enumerate(first.tolist()):
            owner = self._owner_of(entries, at + i)
            if owner is not None:
                group[code] = owners.setdefault(owner, len(owners))
        groups = group[codes]
        order = np.argsort(groups, kind="stable")
        edges = np.searchsorted(groups[order], np.arange(len(owners) + 1))
        self._singly(rows, order[: edges[0]] + at)  # folders whose first key belongs to no array; others may
        for owner, number in owners.items():
            which = order[edges[number] : edges[number + 1]] + at
            mine = keys_begin_with(entries, which, owner.mark)
            if not self._is_scalar(owner) and len(mine) and mine.any():
                self._place(rows, which[mine], owner)
                which = which[~mine]
            self._singly(rows, which)  # the few whose keys only share a folder with an array's chunks

    def _singly(self, rows: _Rows, which: NDArray[np.int64]) -> None:
        for i in which.tolist():
            owner = self._owner_of(rows.entries, i)
            if owner is not None:
                self._place(rows, slice(i, i + 1), owner)

    def _place(self, rows: _Rows, which: slice | NDArray[np.int64], owner: _Owner) -> None:
        """Take entries of one array, whose keys all begin with the owner's mark."""
        entries = rows.entries
        meta, collector = self._map.meta(owner.path), self.collectors[owner.path]
        if not collector.grid_shape:
            self._take(collector, np.zeros(1, np.int64), which, rows)
            return
        begin, end = entries.key[which] + len(owner.mark), entries.key_end[which]
        suffix = json.dumps(meta.keys.suffix, ensure_ascii=False).encode()[1:-1]
        shape, separator = collector.grid_shape, meta.keys.separator
        if len(begin) <= SMALL_BATCH and not suffix:
            few = small_positions(slices(entries.data, begin, end), shape, separator)
            if few is not None:
                self._take(collector, few, which, rows)
                return
        flat, good = grid_positions(entries.view, begin, end - len(suffix), shape, ord(separator))
        if suffix:
            last = entries.view[end[:, None] + np.arange(-len(suffix), 0)]
            good &= (last == np.frombuffer(suffix, np.uint8)).all(axis=1)
        if good.all():
            self._take(collector, flat, which, rows)
            return
        for i in np.flatnonzero(~good).tolist():
            tail = entries.data[begin[i] : end[i]]
            check_stray(unescape(tail, self._map.where), meta, owner.prefix, self._map.where)
        some = np.flatnonzero(good)
        place = some + which.start if isinstance(which, slice) else which[some]
        self._take(collector, flat[some], place, rows)

    def _take(
        self, collector: Collector, flat: NDArray[np.int64], which: slice | NDArray[np.int64], rows: _Rows
    ) -> None:
        numbers, offset, sizes = rows.source[which], rows.offset[which], rows.length[which]
        empty = sizes == 0
        if not empty.any():
            collector.add(flat, numbers, offset, sizes)
            return
        for chunk in flat[empty].tolist():  # a reference to no bytes is bytes: none
            collector.add_inline(chunk, b"")
        rest = ~empty
        collector.add(flat[rest], numbers[rest], offset[rest], sizes[rest])

    def parsed(self, entries: Mapping[str, JSON]) -> None:
        """Take all entries of a map that was parsed."""
        keys, values = list(entries), list(entries.values())
        layout = self._layout(keys, list(map(type, values)))
        singly = list(layout.singly)
        for run in layout.runs:
            chosen = values[run.where] if isinstance(run.where, slice) else [values[i] for i in run.where]
            columns = three_columns(chosen, self.source_number)
            if columns is None:
                singly += keys[run.where] if isinstance(run.where, slice) else [keys[i] for i in run.where]
            else:
                self.collectors[run.path].add(run.flat, *columns)
        for key in singly:
            self.other(key, entries[key], 0, 0)

    def _layout(self, keys: list[str], kinds: list[type]) -> EntryLayout:
        """Where the entries belong; a map that has the keys and the arrays of the one before has its layout too."""
        metas = [self._map.meta(path) for path in self.collectors]
        grids = {p: (c.grid_shape, m.keys) for (p, c), m in zip(self.collectors.items(), metas, strict=True)}
        shared = self._map.options.shared
        known = None if shared is None else shared.layouts.get("")
        if isinstance(known, EntryLayout) and known.keys == keys and known.kinds == kinds and known.grids == grids:
            return known
        found = entry_layout(keys, kinds, grids, self._owner)
        if shared is not None:
            shared.layouts[""] = found
        return found

    def text(self, key: str, raw: bytes) -> None:
        if not is_document(key):
            self.other(key, unescape(raw, self._map.where), 0, 0)

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        if is_document(key) or key == ".zmetadata":
            return
        owner = self._owner(key)
        if owner is None:
            return
        path, prefix = owner
        meta, collector = self._map.meta(path), self.collectors[path]
        where = f"{self._map.where}: {key}"
        flat = 0
        if collector.grid_shape:
            found = position(key[len(prefix) :], collector.grid_shape, meta.keys)
            if found is None:
                check_stray(key[len(prefix) :], meta, prefix, self._map.where)
                return
            flat = found
        match parse_reference(value, where, self._map.options.target):
            case bytes() as data:
                collector.add_inline(flat, data)
            case (url, offset, size):
                number = self.source_number(url)
                collector.add(
                    np.array([flat], np.int64),
                    np.array([number], np.int32),
                    np.array([offset], np.uint64),
                    np.array([WHOLE if size is None else size], np.uint64),
                )
