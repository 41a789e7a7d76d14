"""Codecs that only change shape: ``reshape`` (Zarr extensions registry) and ``zarrs.squeeze``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, Context
from byteatlas.errors import InvalidMetadata
from byteatlas.types import JSON, Shape


def _step(spec: ArraySpec, shape: Shape) -> ArrayStep:
    def decode(array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(spec.shape)

    def encode(array: NDArray[Any]) -> NDArray[Any]:
        return array.reshape(shape)

    return ArrayStep(replace(spec, shape=shape), decode, encode)


@dataclass(frozen=True, slots=True)
class Reshape:
    """Each length is a number, -1 (whatever is left), or the product of some of the input's lengths."""

    lengths: tuple[int | tuple[int, ...], ...]

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        used = [i for n in self.lengths if isinstance(n, tuple) for i in n]
        if any(not 0 <= i < len(spec.shape) for i in used) or any(a >= b for a, b in pairwise(used)):
            raise InvalidMetadata("", f"reshape: input dimensions {used} of {len(spec.shape)}")
        found = [math.prod(spec.shape[i] for i in n) if isinstance(n, tuple) else n for n in self.lengths]
        known = math.prod(n for n in found if n != -1)
        if -1 in found:
            if not known or spec.size % known:
                raise InvalidMetadata("", f"reshape {list(self.lengths)} of a chunk {spec.shape}")
            found[found.index(-1)] = spec.size // known
        if math.prod(found) != spec.size:
            raise InvalidMetadata("", f"reshape {list(self.lengths)} of a chunk {spec.shape}")
        for at, n in enumerate(self.lengths):
            if isinstance(n, tuple) and n:
                before = math.prod(found[:at]) == math.prod(spec.shape[: n[0]])
                after = math.prod(found[at + 1 :]) == math.prod(spec.shape[n[-1] + 1 :])
                if not before or not after:
                    raise InvalidMetadata("", f"reshape {list(self.lengths)} mixes the axes of a chunk {spec.shape}")
        return _step(spec, tuple(found))


@dataclass(frozen=True, slots=True)
class Squeeze:
    """Axes of length one are left out."""

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        return _step(spec, tuple(n for n in spec.shape if n != 1))


def make_reshape(configuration: Mapping[str, JSON]) -> Reshape:
    """``reshape``."""
    shape = configuration.get("shape")
    if not isinstance(shape, list):
        raise InvalidMetadata("", f"reshape: shape {shape!r}")
    lengths: list[int | tuple[int, ...]] = []
    for n in shape:
        if isinstance(n, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in n):
            lengths.append(tuple(n))
        elif isinstance(n, int) and not isinstance(n, bool) and (n > 0 or n == -1):
            lengths.append(n)
        else:
            raise InvalidMetadata("", f"reshape: {n!r} is no length")
    if lengths.count(-1) > 1:
        raise InvalidMetadata("", "reshape: -1 more than once")
    return Reshape(tuple(lengths))


def make_squeeze(configuration: Mapping[str, JSON]) -> Squeeze:
    """``zarrs.squeeze``."""
    return Squeeze()
