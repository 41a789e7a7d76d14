"""Facts about a hierarchy in plain numbers: shapes, chunks, codecs, and where the bytes lie."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from byteatlas.manifest.facts import chunk_facts
from byteatlas.manifest.model import Manifest, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.model import ArrayMeta, CodecSpec, RectilinearGrid
from byteatlas.meta.text import shape_text
from byteatlas.types import JSON, JSONObject, Shape
from byteatlas.values import dataclass, field

if TYPE_CHECKING:
    from byteatlas.array import Node


@dataclass(frozen=True, slots=True)
class Place:
    """An array's bytes in one file: how many chunks, how many bytes, between which offsets."""

    url: str
    chunks: int
    bytes: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class StorageFacts:
    """Where a virtual array's chunks are. ``present`` includes inline ones; ``bytes`` leaves out whole files."""

    present: int
    missing: int
    inline: int
    bytes: int
    sources: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """One array. ``nbytes`` is its decoded size; ``stored`` None: its chunks are keys of a store."""

    shape: Shape
    dims: tuple[str | None, ...] | None
    dtype: str
    chunks: JSON
    codecs: str
    fill: str
    encodings: int
    nbytes: int
    attributes: JSONObject
    stored: StorageFacts | None

    @property
    def shape_text(self) -> str:
        return shape_text(self.shape, self.dims)

    @property
    def chunks_text(self) -> str:
        if not self.chunks:
            return "()"
        return " x ".join(str(c) if isinstance(c, int) else _run_lengths(c) for c in self.chunks)

    def document(self) -> JSON:
        stored = self.stored
        found: dict[str, JSON] = {
            "shape": list(self.shape),
            "dims": None if self.dims is None else list(self.dims),
            "dtype": self.dtype,
            "chunks": self.chunks,
            "codecs": self.codecs,
            "fill_value": self.fill,
            "encodings": self.encodings,
            "nbytes": self.nbytes,
            "attributes": dict(self.attributes),
        }
        if stored is not None:
            found |= {
                "stored_bytes": stored.bytes,
                "chunks_present": stored.present,
                "chunks_missing": stored.missing,
                "chunks_inline": stored.inline,
                "sources": [
                    {"url": p.url, "chunks": p.chunks, "bytes": p.bytes, "begin": p.begin, "end": p.end}
                    for p in stored.sources
                ],
            }
        return found


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A group and everything below it, depth first; an array at the root is a single member without a name."""

    attributes: JSONObject = field(default_factory=dict)
    members: tuple[tuple[str, ArrayFacts | GroupFacts], ...] = ()

    def document(self) -> JSON:
        arrays = [{"path": path, **n.document()} for path, n in self.members if isinstance(n, ArrayFacts)]
        groups = [{"path": p, "attributes": dict(n.attributes)} for p, n in self.members if isinstance(n, GroupFacts)]
        return {"attributes": dict(self.attributes), "groups": groups, "arrays": arrays}


def describe(node: Node | VirtualNode, path: str = "") -> GroupFacts:
    """Facts about a node and all that is below it. ``path`` names an array that is the node itself."""
    if isinstance(node, VirtualArray):
        return GroupFacts({}, ((path.rpartition("/")[2], array_facts(node.meta, node.manifest)),))
    if not isinstance(node, VirtualGroup):
        return _describe_opened(node, path)
    members: list[tuple[str, ArrayFacts | GroupFacts]] = []
    for name, child in node.walk():
        match child:
            case VirtualArray(meta, manifest):
                members.append((name, array_facts(meta, manifest)))
            case VirtualGroup(meta):
                members.append((name, GroupFacts(meta.attributes)))
    return GroupFacts(node.meta.attributes, tuple(members))


def _describe_opened(node: Node, path: str) -> GroupFacts:
    from byteatlas.array import Array  # maps and archives do without

    if isinstance(node, Array):
        return GroupFacts({}, ((path.rpartition("/")[2], array_facts(node.meta, None)),))
    members: list[tuple[str, ArrayFacts | GroupFacts]] = []
    for name, child in node.walk():
        facts = array_facts(child.meta, None) if isinstance(child, Array) else GroupFacts(child.meta.attributes)
        members.append((name, facts))
    return GroupFacts(node.meta.attributes, tuple(members))


def array_facts(meta: ArrayMeta, manifest: Manifest | None) -> ArrayFacts:
    """Facts about one array."""
    grid = meta.grid
    chunks = [list(e) for e in grid.edges] if isinstance(grid, RectilinearGrid) else list(grid.chunk_shape)
    dtype = meta.data_type.name if meta.data_type.numpy.hasobject else str(meta.data_type.numpy)
    return ArrayFacts(
        shape=meta.shape,
        dims=meta.dimension_names,
        dtype=dtype,
        chunks=chunks,
        codecs=codecs_text(meta.codecs),
        fill="none" if meta.fill_value is None else str(meta.fill_value),
        encodings=len(meta.encodings),
        nbytes=math.prod(meta.shape) * meta.data_type.numpy.itemsize,
        attributes=meta.attributes,
        stored=None if manifest is None else stored_facts(manifest),
    )


def stored_facts(manifest: Manifest) -> StorageFacts:
    """Count chunks and bytes by file."""
    facts = chunk_facts(manifest)
    places = tuple(Place(s.info.url, s.chunks, s.bytes, s.begin, s.end) for s in facts.sources)
    return StorageFacts(facts.present, facts.missing, facts.inline, facts.stored, places)


def codecs_text(codecs: tuple[CodecSpec, ...]) -> str:
    """A codec chain for people, in encoding order; plain little-endian bytes are not worth a word.

    >>> codecs_text((CodecSpec("bytes", {"endian": "big"}), CodecSpec("numcodecs.zlib", {"level": 4})))
    'big-endian > zlib(4)'
    """
    words = []
    for codec in codecs:
        if codec.name == "bytes" and codec.configuration.get("endian", "little") == "little":
            continue
        if codec.name == "bytes":
            words.append("big-endian")
            continue
        alone = len(codec.configuration) == 1
        settings = ", ".join(f"{v}" if alone or k == "level" else f"{k}={v}" for k, v in codec.configuration.items())
        words.append(
            codec.name.removeprefix("numcodecs.") + (f"({settings})" if settings and len(settings) < 60 else "")
        )
    return " > ".join(words)


def _run_lengths(lengths: list[int]) -> str:
    """Chunk lengths along an axis, equal neighbours counted.

    >>> _run_lengths([4, 4, 4, 2])
    '[3*4, 2]'
    """
    runs: list[list[int]] = []
    for n in lengths:
        if runs and runs[-1][1] == n:
            runs[-1][0] += 1
        else:
            runs.append([1, n])
    words = [str(n) if k == 1 else f"{k}*{n}" for k, n in runs]
    return f"[{', '.join(words[:6])}{', ...' if len(words) > 6 else ''}]"
