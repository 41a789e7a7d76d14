"""Codecs that only rearrange axes: ``transpose`` (v3 core), ``reshape`` (extensions registry), ``zarrs.squeeze``."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, ChainContext
from byteatlas.codecs.core.options import Configuration
from byteatlas.meta.place import invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


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

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        used = [i for n in self.lengths if isinstance(n, tuple) for i in n]
        if any(not 0 <= i < len(spec.shape) for i in used) or any(a >= b for a, b in pairwise(used)):
            raise invalid(f"shape: input dimensions {used} of {len(spec.shape)}")
        found = [math.prod(spec.shape[i] for i in n) if isinstance(n, tuple) else n for n in self.lengths]
        known = math.prod(n for n in found if n != -1)
        if -1 in found:
            if not known or spec.size % known:
                raise invalid(f"shape: {list(self.lengths)} of a chunk {spec.shape}")
            found[found.index(-1)] = spec.size // known
        if math.prod(found) != spec.size:
            raise invalid(f"shape: {list(self.lengths)} of a chunk {spec.shape}")
        for at, n in enumerate(self.lengths):
            if isinstance(n, tuple) and n:
                before = math.prod(found[:at]) == math.prod(spec.shape[: n[0]])
                after = math.prod(found[at + 1 :]) == math.prod(spec.shape[n[-1] + 1 :])
                if not before or not after:
                    raise invalid(f"shape: {list(self.lengths)} mixes the axes of a chunk {spec.shape}")
        return _step(spec, tuple(found))


@dataclass(frozen=True, slots=True)
class Squeeze:
    """Axes of length one are left out."""

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        return _step(spec, tuple(n for n in spec.shape if n != 1))


def make_reshape(configuration: Configuration) -> Reshape:
    """``reshape``."""
    shape = configuration.get("shape")
    if not isinstance(shape, list):
        raise invalid(f"shape: {shape!r} is not a list")
    lengths: list[int | tuple[int, ...]] = []
    for n in shape:
        if isinstance(n, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in n):
            lengths.append(tuple(n))
        elif isinstance(n, int) and not isinstance(n, bool) and (n > 0 or n == -1):
            lengths.append(n)
        else:
            raise invalid(f"shape: {n!r} is no length")
    if lengths.count(-1) > 1:
        raise invalid("shape: -1 more than once")
    return Reshape(tuple(lengths))


def make_squeeze(configuration: Configuration) -> Squeeze:
    """``zarrs.squeeze``."""
    return Squeeze()


@dataclass(frozen=True, slots=True)
class _Transpose:
    order: tuple[int, ...]

    def __call__(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.transpose(self.order)

    @property
    def reverses_axes(self) -> bool:
        """Whether C order on one side is F order on the other."""
        return self.order == tuple(range(len(self.order)))[::-1]


@dataclass(frozen=True, slots=True)
class Transpose:
    """``order[i]`` is the axis of the array that becomes axis i. ``C`` and ``F`` are names of drafts."""

    order: tuple[int, ...] | str

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        axes = tuple(range(len(spec.shape)))
        order = {"C": axes, "F": axes[::-1]}[self.order] if isinstance(self.order, str) else self.order
        if tuple(sorted(order)) != axes:
            raise invalid(f"order: {list(order)} of an array of {len(axes)} dimensions")
        inverse = tuple(int(i) for i in np.argsort(order)) if order else ()
        encoded = replace(spec, shape=tuple(spec.shape[i] for i in order))
        return ArrayStep(encoded, _Transpose(inverse), _Transpose(tuple(order)))


def make_transpose(configuration: Configuration) -> Transpose:
    """``transpose``."""
    order = configuration.get("order")
    if order in ("C", "F"):
        return Transpose(str(order))
    if not isinstance(order, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in order):
        raise invalid(f"order: {order!r} is not a list of axes")
    return Transpose(tuple(order))
