"""Virtual trees for the tests of reference maps, made by hand and by hypothesis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from byteatlas.manifest.model import (
    INLINE,
    MISSING,
    WHOLE,
    ChunkManifest,
    Inline,
    Missing,
    Reference,
    SourceInfo,
    VirtualArray,
    VirtualGroup,
    VirtualNode,
    reference_at,
)
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import (
    ArrayMeta,
    ChunkKeys,
    CodecSpec,
    Encoding,
    GroupMeta,
    RectilinearGrid,
    RegularGrid,
)

LITTLE = CodecSpec("bytes", {"endian": "little"})
ZLIB = CodecSpec("numcodecs.zlib", {"level": 4})


def array(
    shape: tuple[int, ...],
    chunks: tuple[int, ...],
    dtype: str = "<f4",
    *,
    references: Any = None,
    url: str = "/data/a.nc",
    **meta: Any,
) -> VirtualArray:
    """An array; by default all chunks lie one behind the other in one file.

    ``references``: (url, offset, length), (url,), bytes for each chunk that exists.
    """
    grid = RegularGrid(chunks)
    counts = chunk_counts(shape, grid)
    total = math.prod(counts)
    item = np.dtype(dtype)
    size = math.prod(chunks) * item.itemsize
    if references is None:
        places = list(np.ndindex(*counts))
        references = {place: (url, 100 + i * size, size) for i, place in enumerate(places)}
    sources: dict[str, int] = {}
    source, offset = np.full(total, MISSING, np.int32), np.zeros(total, np.uint64)
    length = np.zeros(total, np.uint64)
    inlined: dict[int, bytes] = {}
    for place, ref in references.items():
        flat = int(np.ravel_multi_index(place, counts)) if counts else 0
        if isinstance(ref, bytes):
            source[flat], inlined[flat] = INLINE, ref
            continue
        source[flat] = sources.setdefault(ref[0], len(sources))
        offset[flat], length[flat] = (0, WHOLE) if len(ref) == 1 else ref[1:]
    infos = tuple(SourceInfo(u) for u in sources)
    kind = from_numpy(item.newbyteorder("="))
    encoding = meta.pop("encodings", (Encoding((LITTLE,)),))
    if item.itemsize == 1:  # a byte has no order
        encoding = tuple(replace(e, codecs=(CodecSpec("bytes"), *e.codecs[1:])) for e in encoding)
    described = ArrayMeta(shape, kind, grid, encoding, kind.numpy.type(0), **meta)
    return VirtualArray(described, ChunkManifest(counts, infos, source, offset, length, None, inlined))


def array_at(group: VirtualGroup, path: str) -> VirtualArray:
    found = group[path]
    assert isinstance(found, VirtualArray)
    return found


def references(node: VirtualArray) -> dict[tuple[int, ...], Reference]:
    """Every chunk that exists, by its place."""
    counts = node.manifest.grid_shape
    found = {place: reference_at(node.manifest, place) for place in np.ndindex(*counts)}
    return {place: ref for place, ref in found.items() if not isinstance(ref, Missing)}


def same(a: VirtualNode, b: VirtualNode, path: str = "") -> None:
    """Assert that two trees mean the same."""
    assert type(a) is type(b), path
    if isinstance(a, VirtualArray):
        assert isinstance(b, VirtualArray)
        for name in ("shape", "data_type", "grid", "encodings", "dimension_names", "attributes"):
            assert getattr(a.meta, name) == getattr(b.meta, name), (path, name)
        x, y = a.meta.fill_value, b.meta.fill_value
        assert (x is None) == (y is None), path
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes(), (path, x, y)
        assert references(a) == references(b), path
        first, second = a.manifest.load().encoding, b.manifest.load().encoding
        if len(a.meta.encodings) > 1:
            assert first is not None
            assert second is not None
            assert (first == second).all()
        return
    assert isinstance(b, VirtualGroup)
    assert a.attributes == b.attributes, path
    assert list(a.arrays) == list(b.arrays), path
    assert set(a.groups) == set(b.groups), path
    for name in a.arrays:
        same(a.arrays[name], b.arrays[name], f"{path}/{name}")
    for name in a.groups:
        same(a.groups[name], b.groups[name], f"{path}/{name}")


URLS = st.sampled_from(
    [
        "/data/a.nc",
        "s3://bucket/été.nc",
        "http://h/x?a=1&b=%20",
        '/d/quote"back\\slash.nc',
        "gs://b/{x}.nc",
        "/d/a,b]c.nc",
    ]
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
NAMES = st.text(st.sampled_from('abcXYZ_09 .é"\\'), min_size=1, max_size=6).filter(
    lambda s: s not in (".", "..", "c", ".zarray", ".zattrs", ".zgroup") and s.strip(". ") != ""
)
ATTRIBUTES = st.dictionaries(
    TEXTS.filter(lambda s: s not in ("_ARRAY_DIMENSIONS",) and not s.startswith("_")),
    st.one_of(
        TEXTS,
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.none(),
        st.lists(st.integers(0, 9), max_size=3),
    ),
    max_size=3,
)


@st.composite
def remote_or_inline(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(["range", "range", "range", "whole", "bytes", "text"]))
    match kind:
        case "range":
            return draw(URLS), draw(st.integers(0, 2**40)), draw(st.integers(1, 2**31))
        case "whole":
            return (draw(URLS),)
        case "bytes":
            return draw(st.binary(min_size=1, max_size=20))
        case _:
            return draw(
                st.sampled_from([b"base64:AAAA", b"base64:", "é\n".encode(), b'{"a": 1}', b'"', b"\\u0000", b" "])
            )


@st.composite
def arrays(draw: st.DrawFn) -> VirtualArray:
    ndim = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(0 if i else 1, 7)) for i in range(ndim))
    chunks = tuple(draw(st.integers(1, 4)) for _ in range(ndim))
    counts = chunk_counts(shape, RegularGrid(chunks))
    places = list(np.ndindex(*counts))
    refs = {place: draw(remote_or_inline()) for place in places if draw(st.integers(0, 3))}
    version = draw(st.sampled_from([2, 3]))
    keys = draw(st.sampled_from([("v2", "."), ("v2", "/"), ("default", "/"), ("default", "."), ("default", "/", ".é")]))
    names = draw(st.sampled_from([None, tuple(f"d{i}" for i in range(ndim))]))
    codecs = draw(st.sampled_from([(LITTLE,), (LITTLE, ZLIB)]))
    node = array(
        shape,
        chunks,
        draw(st.sampled_from(["<f4", "|u1", "<i8"])),
        references=refs,
        zarr_format=version,
        keys=ChunkKeys("v2", keys[1]) if version == 2 else ChunkKeys(*keys),  # type: ignore[arg-type]
        dimension_names=names,
        attributes=draw(ATTRIBUTES),
        encodings=(Encoding(codecs if draw(st.booleans()) else (LITTLE,)),),
    )
    if draw(st.integers(0, 4)) == 0 and 0 not in counts:
        return _two_encodings(draw, node)
    return node


def _two_encodings(draw: st.DrawFn, node: VirtualArray) -> VirtualArray:
    m = node.manifest.load()
    column = np.array([draw(st.integers(0, 1)) for _ in range(m.nchunks)], np.uint16)
    column[0] = 1
    plain = Encoding(node.meta.codecs[:1])
    meta = replace(node.meta, encodings=(plain, Encoding((*plain.codecs, ZLIB))))
    return VirtualArray(meta, replace(m, encoding=column))


@st.composite
def trees(draw: st.DrawFn, depth: int = 2) -> VirtualGroup:
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    cut = draw(st.integers(0, len(names)))
    groups = {name: draw(trees(depth - 1)) for name in names[cut:]} if depth else {}
    return VirtualGroup(
        GroupMeta(draw(ATTRIBUTES), draw(st.sampled_from([2, 3]))),
        {name: draw(arrays()) for name in names[:cut]},
        groups,
    )


__all__ = ["Inline", "RectilinearGrid", "array", "arrays", "references", "same", "trees"]
