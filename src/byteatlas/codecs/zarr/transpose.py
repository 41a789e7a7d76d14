"""``transpose``: reorder the axes before the bytes are laid out (v3 core)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, Context
from byteatlas.errors import InvalidMetadata
from byteatlas.types import JSON


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

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        axes = tuple(range(len(spec.shape)))
        order = {"C": axes, "F": axes[::-1]}[self.order] if isinstance(self.order, str) else self.order
        if tuple(sorted(order)) != axes:
            raise InvalidMetadata("", f"transpose {list(order)} of an array of {len(axes)} dimensions")
        inverse = tuple(int(i) for i in np.argsort(order)) if order else ()
        encoded = replace(spec, shape=tuple(spec.shape[i] for i in order))
        return ArrayStep(encoded, _Transpose(inverse), _Transpose(tuple(order)))


def make(configuration: Mapping[str, JSON]) -> Transpose:
    """``transpose``."""
    order = configuration.get("order")
    if order in ("C", "F"):
        return Transpose(str(order))
    if not isinstance(order, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in order):
        raise InvalidMetadata("", f"transpose: order {order!r}")
    return Transpose(tuple(order))
