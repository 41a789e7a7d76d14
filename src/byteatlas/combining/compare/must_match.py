"""Variables that must be the same in several files: are they?"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.combining.compare.packing import packing_of, unpacked
from byteatlas.combining.coordinates.values import nbytes, read_all
from byteatlas.combining.model import CombineOptions, Finding, ReadArray
from byteatlas.combining.wording import by_value, shape_text
from byteatlas.manifest.model import ChunkManifest, Manifest, VirtualArray
from byteatlas.meta.compare import read_alike
from byteatlas.meta.model import EncodingColumn

MANIFEST, INLINED, SOURCE = map(attrgetter, ("manifest", "inlined", "source"))


def unequal(
    path: str,
    arrays: Sequence[VirtualArray],
    names: Sequence[str],
    options: CombineOptions,
    read: ReadArray,
    *,
    alike: bool = False,
) -> list[Finding]:
    """Conflicts for the arrays that do not hold the same values as the first one.

    Same references need no look at the data, and neither do equal inline bytes. Other arrays are read when they are
    small; when they are not, nobody knows, and that is a conflict too. ``alike``: their metadata are known to be equal.
    """
    first = arrays[0]
    if trusted(path, options):
        return []
    asked = [i for i, a in enumerate(arrays) if i and not equal_references(a, first, alike)]
    if not asked:
        return []
    advice = _advice(path, first, options)
    odd = [i for i in asked if arrays[i].meta.shape != first.meta.shape]
    if odd:
        files, detail = by_value([shape_text(a.meta.shape) for a in arrays], names, "shape differs")
        return [Finding("conflict", "shape", path, files, detail + advice)]
    if nbytes(first) > options.compare_below:
        detail = f"{nbytes(first)} bytes in each file are too many to compare; trust this variable or raise the limit"
        return [Finding("conflict", "values", path, tuple(names[i] for i in asked), detail)]
    values = read_all([first, *(arrays[i] for i in asked)], read)
    differing = [
        i for i, v in zip(asked, values[1:], strict=True) if not equal_unpacked(values[0], v, first, arrays[i])
    ]
    if not differing:
        return []
    detail = f"values differ between files, and the variable has no concatenated dimension{advice}"
    return [Finding("conflict", "values", path, tuple(names[i] for i in differing), detail)]


def _advice(path: str, array: VirtualArray, options: CombineOptions) -> str:
    """What to do about a coordinate that differs where nothing is concatenated: most often it was forgotten."""
    name = path.rpartition("/")[2]
    if options.concat or array.meta.dimension_names != (name,):
        return ""
    return f"; files that follow each other along {name} are combined with concat={name!r} (--concat {name})"


def all_inline_identical(arrays: Sequence[VirtualArray]) -> bool:
    """Whether arrays of the same description have one chunk each, in the map, with the same bytes."""
    first = arrays[0].manifest
    if not isinstance(first, ChunkManifest) or len(first.source) != 1 or not first.inlined:
        return False
    manifests = list(map(MANIFEST, arrays))
    if len(set(map(id, manifests))) == 1:
        return True
    return (
        set(map(type, manifests)) == {ChunkManifest}
        and list(map(INLINED, manifests)).count(first.inlined) == len(manifests)
        and list(map(len, map(SOURCE, manifests))).count(1) == len(manifests)
    )


def trusted(path: str, options: CombineOptions) -> bool:
    return bool(options.trust) and ("*" in options.trust or path in options.trust)


def equal_references(a: VirtualArray, b: VirtualArray, alike: bool = False) -> bool:
    """Whether two arrays are the same bytes read in the same way, as far as the references say."""
    m, n = a.manifest, b.manifest
    return equal_rows(m, n) and (alike or read_alike(a.meta, b.meta, decoding_ignores))


def equal_rows(m: Manifest, n: Manifest) -> bool:
    """Whether two manifests refer to the same bytes, chunk by chunk, by encodings of the same number."""
    if m is n:
        return True
    if not isinstance(m, ChunkManifest) or not isinstance(n, ChunkManifest):
        m, n = m.load(), n.load()
    if m.inlined != n.inlined or len(m.source) != len(n.source):
        return False
    if len(m.source) == 1:
        where = m.source[0]
        return (
            bool(where == n.source[0]) and (where < 0 or equal_only_row(m, n)) and equal_columns(m.encoding, n.encoding)
        )
    if not np.array_equal(m.source, n.source):
        return False
    stored = bool((m.source >= 0).any())
    if stored and not (
        m.sources == n.sources and np.array_equal(m.offset, n.offset) and np.array_equal(m.length, n.length)
    ):
        return False
    return equal_columns(m.encoding, n.encoding)


def equal_columns(x: EncodingColumn | None, y: EncodingColumn | None) -> bool:
    """Equal columns; None stands for zeros."""
    if x is None or y is None:
        other = x if y is None else y
        return other is None or not other.any()
    return bool(np.array_equal(x, y))


def equal_only_row(m: ChunkManifest, n: ChunkManifest) -> bool:
    """Whether the only chunk of both is the same bytes."""
    return bool(
        m.sources[m.source[0]] == n.sources[n.source[0]] and m.offset[0] == n.offset[0] and m.length[0] == n.length[0]
    )


def equal_unpacked(x: NDArray[Any], y: NDArray[Any], a: VirtualArray, b: VirtualArray) -> bool:
    """Equal values; NaN equals NaN; packed differently, they are compared unpacked."""
    if x.dtype.kind in "iuf" and y.dtype.kind in "iuf":
        p, q = packing_of(a.meta), packing_of(b.meta)
        if p != q:
            x, y = unpacked(x, p), unpacked(y, q)
    nan = x.dtype.kind in "fc" and y.dtype.kind in "fc"
    return bool(np.array_equal(x, y, equal_nan=nan))
