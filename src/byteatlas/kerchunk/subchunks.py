"""Chunks of uncompressed arrays as several smaller ones: references only."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

from byteatlas.errors import BadRequest, unknown
from byteatlas.kerchunk.references import RefDict, access_to, bytes_of, flat


def subchunk(
    store: Mapping[str, Any], variable: str, factor: int, remote_options: Mapping[str, Any] | None = None
) -> RefDict:  # fmt: skip
    """References (version 0) in which each chunk of an uncompressed array is ``factor`` chunks.

    The first axis along which chunks are longer than 1 is cut; where ``factor`` is larger, those after it too.

    Raises `BadRequest` for compressed arrays, data that are in the references, and a factor that does not divide.
    """
    refs = flat(store)
    key = f"{variable}/.zarray"
    if key not in refs:
        raise unknown("array", variable, [k[: -len("/.zarray")] for k in refs if k.endswith("/.zarray")])
    meta = json.loads(bytes_of(refs[key]))
    if meta.get("compressor") is not None or meta.get("filters") or meta.get("order") == "F":
        raise BadRequest(f"{variable} is compressed, or lies column by column: its chunks cannot be cut")
    parts = _parts(meta["chunks"], factor)
    counts = [-(-n // (c // p)) for n, c, p in zip(meta["shape"], meta["chunks"], parts, strict=True)]
    meta["chunks"] = [c // p for c, p in zip(meta["chunks"], parts, strict=True)]
    out = {k: v for k, v in refs.items() if not k.startswith(f"{variable}/") or k.rsplit("/", 1)[-1].startswith(".z")}
    out[key] = json.dumps(meta, separators=(",", ":"))
    for old in [name for name in refs if name not in out]:
        url, offset, size = _range(refs[old], old, remote_options)
        if size % factor:
            raise BadRequest(f"{old} has {size} bytes, which are not {factor} equal parts")
        rest = old[len(variable) + 1 :]
        separator = "/" if "/" in rest else "."
        index = [int(n) for n in rest.split(separator)]
        for i, inner in enumerate(itertools.product(*map(range, parts))):
            new = [n * p + k for n, p, k in zip(index, parts, inner, strict=True)]
            if all(n < count for n, count in zip(new, counts, strict=True)):
                name = f"{variable}/{separator.join(map(str, new))}"
                out[name] = [url, offset + i * (size // factor), size // factor]
    return out


def _parts(chunks: list[int], factor: int) -> list[int]:
    """Into how many parts chunks are cut along each axis, so that each part's bytes lie together.

    >>> _parts([1, 10, 10], 5), _parts([2, 10], 4)
    ([1, 5, 1], [2, 2])
    """
    parts, left = [1] * len(chunks), factor
    for axis, length in enumerate(chunks):
        step = math.gcd(length, left)
        parts[axis], left = step, left // step
        if left == 1:
            return parts
        if step != length:
            break
    raise BadRequest(f"chunks of {chunks} cannot be cut into {factor} equal parts")


def _range(value: Any, key: str, options: Mapping[str, Any] | None) -> tuple[str, int, int]:
    if not isinstance(value, list):
        raise BadRequest(f"{key} is in the references: nothing to cut")
    if len(value) == 3:
        return value[0], value[1], value[2]
    return value[0], 0, access_to(options).open(value[0]).size()
