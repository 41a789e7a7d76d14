"""Regular layouts found in manifests, so that a map can say them with one ``gen`` entry instead of many references."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import MISSING, WHOLE, ChunkManifest
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.tree import WrittenArray, key_prefix
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace

FEWEST = 8
"""Fewer chunks than this are written as they are."""
_NAMES = "ijklmnopqrst"
_SHORTEST_PREFIX = 8


@dataclass(frozen=True, slots=True)
class RegularRun:
    """Chunks ``[begin, end)`` along the first axis, all in one source, of one length, at regular distances."""

    begin: int
    end: int
    source: int
    base: int
    strides: tuple[int, ...]
    length: int


def runs(manifest: ChunkManifest) -> list[RegularRun]:
    """The regular runs of a manifest that are worth a ``gen`` entry; they do not overlap."""
    counts = manifest.grid_shape
    total = math.prod(counts)
    if not counts or total < FEWEST or len(counts) > len(_NAMES) or manifest.encoding is not None:
        return []
    first, inner = counts[0], total // counts[0]
    source = manifest.source.reshape(first, inner)
    length = manifest.length.reshape(first, inner)
    offset = manifest.offset.reshape(first, inner).astype(np.int64)
    steps, good = _steps(offset, counts[1:])
    good &= (source == source[:, :1]).all(axis=1) & (source[:, 0] >= 0)
    good &= (length == length[:, :1]).all(axis=1) & (length[:, 0] != WHOLE) & (length[:, 0] > 0)
    same = (source[1:, 0] == source[:-1, 0]) & (length[1:, 0] == length[:-1, 0]) & good[1:] & good[:-1]
    same &= (steps[1:] == steps[:-1]).all(axis=1)
    found: list[RegularRun] = []
    jumps, at = np.diff(offset[:, 0]).tolist(), 0
    joins = same.tolist()
    while at < first:
        if not good[at]:
            at += 1
            continue
        end = at + 1
        while end < first and joins[end - 1] and jumps[end - 1] == jumps[at]:
            end += 1
        if (end - at) * inner >= FEWEST:
            strides = (int(jumps[at]) if end - at > 1 else 0, *map(int, steps[at]))
            found.append(RegularRun(at, end, int(source[at, 0]), int(offset[at, 0]), strides, int(length[at, 0])))
        at = end
    return found


def _steps(offset: NDArray[np.int64], counts: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each row the distances along the inner axes, and whether the row keeps to them."""
    rows, inner = offset.shape
    steps = np.zeros((rows, len(counts)), np.int64)
    expected = np.zeros((rows, inner), np.int64)
    index = np.unravel_index(np.arange(inner), counts) if counts else ()
    stride = inner
    for axis, count in enumerate(counts):
        stride //= count
        if count > 1:
            steps[:, axis] = offset[:, stride] - offset[:, 0]
            expected += steps[:, axis : axis + 1] * np.asarray(index[axis], np.int64)
    return steps, (offset - offset[:, :1] == expected).all(axis=1)


def without(manifest: ChunkManifest, found: Iterable[RegularRun]) -> ChunkManifest:
    """The manifest with the chunks of these runs missing."""
    source = manifest.source.copy()
    inner = max(len(source) // manifest.grid_shape[0], 1) if manifest.grid_shape and len(source) else 1
    for run in found:
        source[run.begin * inner : run.end * inner] = MISSING
    return replace(manifest, source=source)


def gen_entry(array: WrittenArray, run: RegularRun, url: str) -> dict[str, JSON]:
    """One run as kerchunk's specification writes generated references."""
    counts = array.manifest.grid_shape
    keys = array.meta.keys
    names = _NAMES[: len(counts)]
    place = keys.separator.join("{{" + name + "}}" for name in names)
    terms = [str(run.base - run.begin * run.strides[0])]
    terms += [f"{name} * {stride}" for name, stride in zip(names, run.strides, strict=True) if stride]
    spans: dict[str, Mapping[str, int]] = {name: {"stop": n} for name, n in zip(names, counts, strict=True)}
    spans[names[0]] = {"start": run.begin, "stop": run.end}
    return {
        "key": key_prefix(array.path, keys, len(counts)) + place + keys.suffix,
        "url": url,
        "offset": "{{ " + " + ".join(terms) + " }}",  # Jinja2 takes "{{-" for white space control
        "length": str(run.length),
        "dimensions": spans,
    }


def shared_prefix(urls: Iterable[str]) -> str | None:
    """The folder that all URLs share, for a template; None when there is none worth one.

    Braces in a URL would be taken for a template's.

    >>> shared_prefix(["s3://bucket/a/x.nc", "s3://bucket/a/y.nc"])
    's3://bucket/a/'
    """
    known = list(urls)
    if not known or any("{" in u or "}" in u for u in known):
        return None
    low, high = min(known), max(known)
    common = posixpath.commonprefix([low, high])
    folder = common[: common.rfind("/") + 1]
    return folder if len(folder) >= _SHORTEST_PREFIX else None


def shortened(
    arrays: list[WrittenArray], options: MapWriteOptions
) -> tuple[list[WrittenArray], MapWriteOptions, dict[str, str], list[dict[str, JSON]]]:
    """What is left to be written one by one, the options that use the template, the templates, and ``gen``."""
    loaded = [replace(a, manifest=a.manifest.load()) for a in arrays]
    prefix = shared_prefix({options.shown(s.url) for a in loaded for s in a.manifest.sources})
    templates = {} if prefix is None else {"u": prefix}
    chosen = replace(options, prefix=prefix)
    left: list[WrittenArray] = []
    gen: list[dict[str, JSON]] = []
    for array in loaded:
        manifest = array.manifest.load()
        # In the specification a brace in generated text begins an expression, so such URLs and keys stay outside.
        found = [] if "{" in array.path or "{" in array.meta.keys.suffix else runs(manifest)
        urls = {r.source: options.shown(manifest.sources[r.source].url) for r in found}
        found = [r for r in found if "{" not in urls[r.source] and "}" not in urls[r.source]]
        gen += [gen_entry(array, r, chosen.shown(manifest.sources[r.source].url)) for r in found]
        left.append(replace(array, manifest=without(manifest, found)))
    return left, chosen, templates, gen
