"""A tree of arrays as the keys and values of a plain, regular Zarr store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias

from byteatlas.array import Array, Group, Node
from byteatlas.array.dimensions import Dimensions, lengths_above
from byteatlas.array.writing.identity import source_identity
from byteatlas.errors import BadRequest, ByteatlasError, InvalidMetadata, Unsupported
from byteatlas.meta import v2, v3
from byteatlas.meta.json_text import json_text
from byteatlas.meta.keys import chunk_key, parse_key
from byteatlas.meta.model import ArrayMeta, GroupMeta
from byteatlas.normalised.arrays import NormalisedArray
from byteatlas.normalised.options import DEFAULT, NormaliseOptions
from byteatlas.types import JSON, Shape


class GriddedArray(Protocol):
    """What has metadata and a grid of chunks."""

    @property
    def meta(self) -> ArrayMeta: ...
    @property
    def counts(self) -> Shape:
        """Chunks along each axis."""
        ...


Refusals: TypeAlias = dict[str, Unsupported | InvalidMetadata]


class NormalisedView:
    """A node as plain, regular Zarr. Nothing is read before it is asked for; safe to use from many threads.

    Args:
        node: what `byteatlas.open` gives: a `Group` or an `Array`, virtual or of a store.

    It pickles as its node does.
    """

    def __init__(self, node: Node, options: NormaliseOptions = DEFAULT) -> None:
        if not isinstance(node, (Array, Group)):
            raise BadRequest(f"{type(node).__name__} is no open array or group")
        self.node, self.options = node, options

    def __reduce__(self) -> tuple[type[NormalisedView], tuple[Node, NormaliseOptions]]:
        return NormalisedView, (self.node, self.options)

    def __eq__(self, other: object) -> bool:
        """Views of the same places of the same bytes, with the same metadata."""
        if not isinstance(other, NormalisedView) or self.options != other.options:
            return False
        return self.node is other.node or (self.documents() == other.documents() and self._bytes == other._bytes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"NormalisedView({self.node!r})"

    @property
    def arrays(self) -> Mapping[str, NormalisedArray]:
        """The arrays by path."""
        return self._parts[0]

    @property
    def refused(self) -> Mapping[str, Unsupported | InvalidMetadata]:
        """Arrays that plain Zarr cannot express or that cannot be decoded, by path, and why. They have no keys."""
        return self._parts[1]

    def documents(self) -> Mapping[str, bytes]:
        """All metadata documents by key; the root's holds, or has beside it, those of the whole tree (consolidated)."""
        return self._documents

    def chunk(self, key: str) -> bytes | None:
        """The bytes of one chunk; None for a key that is no chunk of the grid.

        A chunk that was never stored is served as its fill value. Raises what reading raises: `FetchFailed`,
        `CorruptChunk`, `SourceChanged` ...
        """
        place = self._place(key)
        if place is None:
            return None
        path, position = place
        return self.arrays[path].chunk(position)

    def has_chunk(self, key: str) -> bool:
        """Whether a key is that of a chunk of some grid."""
        return self._place(key) is not None

    def chunks(self, keys: Sequence[str]) -> list[bytes | ByteatlasError | None]:
        """Several chunks, in the order of the keys. Those of one array are read together.

        Where a read fails, its chunks are read one by one, and the error stands in the place of each that fails.
        """
        wanted: dict[str, dict[Shape, list[int]]] = {}
        out: list[bytes | ByteatlasError | None] = [None] * len(keys)
        for number, key in enumerate(keys):
            place = self._place(key)
            if place is not None:
                wanted.setdefault(place[0], {}).setdefault(place[1], []).append(number)
        for path, positions in wanted.items():
            for position, found in _each(self.arrays[path], list(positions)):
                for number in positions[position]:
                    out[number] = found
        return out

    def every_key(self) -> Iterator[str]:
        """Every key: the documents', then the chunks'."""
        yield from self.documents()
        for path in self.arrays:
            yield from self.chunk_keys(path)

    def chunk_keys(self, path: str) -> Iterator[str]:
        """The keys of one array's chunks, in C order."""
        array = self.arrays[path]
        base = f"{path}/" if path else ""
        for position in itertools.product(*map(range, array.counts)):
            yield base + chunk_key(array.meta.keys, position)

    # --- what is made once

    @cached_property
    def _bytes(self) -> dict[str, str]:
        """Where each array's bytes lie."""
        return {path: source_identity(array.source) for path, array in self.arrays.items()}

    @cached_property
    def _parts(self) -> tuple[dict[str, NormalisedArray], Refusals]:
        arrays: dict[str, NormalisedArray] = {}
        refused: Refusals = {}
        if isinstance(self.node, Array):
            names = Dimensions().names(self.node)
            arrays[""] = NormalisedArray(self.node, names, self.node.shape, self.options)
            return arrays, refused
        for path, group in self._groups():
            self._take(path, group, arrays, refused)
        return arrays, refused

    def _groups(self) -> Iterator[tuple[str, Group]]:
        if isinstance(self.node, Group):
            yield "", self.node
            for path, node in self.node.walk():
                if isinstance(node, Group):
                    yield path, node

    def _take(self, path: str, group: Group, arrays: dict[str, NormalisedArray], refused: Refusals) -> None:
        members = group.arrays()
        dimensions = Dimensions()
        longest = dimensions.longest(members.values(), lengths_above(self.node, group))
        for name, array in members.items():
            dims = dimensions.names(array)
            shape = array.shape if group.stored else tuple(longest[d] for d in dims)
            below = f"{path}/{name}" if path else name
            try:
                opened = group[name]  # raises what is wrong with its codecs, which a walk leaves to the first read
                assert isinstance(opened, Array)
                arrays[below] = NormalisedArray(opened, dims, shape, self.options)
            except (Unsupported, InvalidMetadata) as error:
                refused[below] = error

    @cached_property
    def _documents(self) -> dict[str, bytes]:
        found: dict[str, JSON] = {}
        for path, group in self._groups():
            _group_documents(path, group, self.options, found)
        for path, array in self.arrays.items():
            _array_documents(path, array, found)
        return {key: json_text(value).encode() for key, value in _consolidated(found, self.options).items()}

    def _place(self, key: str) -> tuple[str, Shape] | None:
        """The array and the grid position that a chunk's key names."""
        return chunk_place(key, self.arrays)


def chunk_place(key: str, arrays: Mapping[str, GriddedArray]) -> tuple[str, Shape] | None:
    """The array (by its path) and the grid position that a chunk's key names; None for what is no chunk's key."""
    path, rest = key, ""
    while path not in arrays:
        if not path:
            return None
        path, _, name = path.rpartition("/")
        rest = f"{name}/{rest}" if rest else name
    array = arrays[path]
    position = parse_key(array.meta.keys, rest, array.meta.ndim)
    if position is None or any(i >= n for i, n in zip(position, array.counts, strict=True)):
        return None
    return path, position


def _each(array: NormalisedArray, positions: list[Shape]) -> Iterator[tuple[Shape, bytes | ByteatlasError]]:
    try:
        yield from array.chunks(positions).items()
        return
    except ByteatlasError as error:
        if len(positions) == 1:
            yield positions[0], error
            return
    for position in positions:
        try:
            yield position, array.chunk(position)
        except ByteatlasError as error:
            yield position, error


def _group_documents(path: str, group: Group, options: NormaliseOptions, found: dict[str, JSON]) -> None:
    base = f"{path}/" if path else ""
    meta = GroupMeta(dict(group.attrs), options.zarr_format)
    if options.zarr_format == 3:
        found[base + "zarr.json"] = v3.dump_group(meta)
        return
    zgroup, zattrs = v2.dump_group(meta)
    found[base + ".zgroup"] = zgroup
    found[base + ".zattrs"] = zattrs


def _array_documents(path: str, array: NormalisedArray, found: dict[str, JSON]) -> None:
    base = f"{path}/" if path else ""
    if array.meta.zarr_format == 3:
        found[base + "zarr.json"] = v3.dump_array(array.meta)
        return
    zarray, zattrs = v2.dump_array(array.meta)
    found[base + ".zarray"] = zarray
    found[base + ".zattrs"] = zattrs


def _consolidated(documents: dict[str, JSON], options: NormaliseOptions) -> dict[str, JSON]:
    """The same and the documents of all nodes in one; nothing more where the root is an array."""
    if options.zarr_format == 2:
        if ".zgroup" not in documents:
            return documents
        return {**documents, ".zmetadata": {"zarr_consolidated_format": 1, "metadata": dict(documents)}}
    root = documents["zarr.json"]
    if not isinstance(root, dict) or root.get("node_type") != "group":
        return documents
    below = {key.removesuffix("/zarr.json"): value for key, value in documents.items() if key != "zarr.json"}
    inline: JSON = {"kind": "inline", "must_understand": False, "metadata": below}
    return {**documents, "zarr.json": {**root, "consolidated_metadata": inline}}
