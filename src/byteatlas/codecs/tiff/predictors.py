"""Predictors and bit order of TIFF (TIFF 6.0 sections 14 and 8; TIFF Technical Note 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard, at_least
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable
from byteatlas.codecs.core.options import Configuration, integer, type_string
from byteatlas.codecs.streams.compression import functions, imagecodecs_function
from byteatlas.meta.dtypes import MOST_AXES
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class BitOrder:
    """FillOrder 2: the bits of every byte are reversed."""

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        return ByteStep(spec.nbytes, spec.limit, reverse_bits, reverse_bits, itemsize=spec.itemsize)


def reverse_bits(data: Bytes) -> bytes:
    """Each byte's bits in opposite order."""
    if not len(data):
        return b""
    found: bytes = imagecodecs_function("bitorder_decode")(bytes(data))
    return found


def make_bitorder(configuration: Configuration) -> BitOrder:
    return BitOrder()


@dataclass(frozen=True, slots=True)
class Predictor:
    """Differences along one axis, of integers (``floating`` False) or of the bytes of floats.

    Attributes:
        shape: of the tile; None: one row.
    """

    name: str
    floating: bool
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    axis: int
    dist: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        shape = self.shape
        if spec.nbytes is None or spec.nbytes % self.dtype.itemsize:
            raise invalid(f"{spec.nbytes} bytes are no whole elements of {self.dtype}")
        if shape is None:
            shape = (spec.nbytes // self.dtype.itemsize,)
        if prod(shape) * self.dtype.itemsize != spec.nbytes or not -len(shape) <= self.axis < len(shape):
            why = f"shape {shape} of {self.dtype} along axis {self.axis} does not fit {spec.nbytes} bytes"
            raise invalid(why)
        return self._step(spec.nbytes, shape, spec)

    def _step(self, nbytes: int, shape: tuple[int, ...], spec: ByteSpec) -> ByteStep:
        undo, redo = functions("floatpred" if self.floating else "delta")

        def view(data: Bytes) -> NDArray[Any]:
            at_least(self.name, len(data), nbytes)
            return np.frombuffer(data, self.dtype, prod(shape)).reshape(shape)

        def run(source: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
            with DamageGuard(self.name):
                found: NDArray[Any] = undo(source, axis=self.axis, dist=self.dist, out=out)
            return found

        def decode(data: Bytes) -> Bytes:
            return np.ascontiguousarray(run(view(data), None)).reshape(-1).view(np.uint8)

        def into(data: Bytes, out: Writable) -> None:
            run(view(data), np.frombuffer(out, self.dtype).reshape(shape))

        def staged(fill: Callable[[Writable], None], out: Writable) -> None:
            fill(out)
            whole = np.frombuffer(out, self.dtype).reshape(shape)
            run(whole, whole)

        def encode(data: Bytes) -> Bytes:
            return bytes(np.ascontiguousarray(redo(view(data), axis=self.axis, dist=self.dist)).tobytes())

        return ByteStep(
            nbytes, nbytes, decode, encode, into, None if self.floating else staged, itemsize=spec.itemsize
        )  # fmt: skip


def _predictor(name: str, floating: bool, configuration: Configuration) -> Predictor:
    shape = configuration.get("shape")
    if shape is not None:
        sized = isinstance(shape, Sequence) and 0 < len(shape) <= MOST_AXES
        if not sized or not all(isinstance(n, int) and n > 0 for n in shape):
            raise invalid(f"shape: {shape!r} is no shape")
        shape = tuple(shape)
    kinds = "f" if floating else "iuf"
    dtype = type_string(configuration, "dtype", None if floating else "|u1", kinds)
    axis, dist = integer(configuration, "axis", -1), integer(configuration, "dist", 1)
    if dist not in (1, 2, 4) or (floating and shape is None):
        raise invalid(f"distance {dist} of a tile of shape {shape}")
    return Predictor(name, floating, shape, dtype, axis, dist)


def make_delta(configuration: Configuration) -> Predictor:
    return _predictor("delta", False, configuration)


def make_floatpred(configuration: Configuration) -> Predictor:
    return _predictor("floatpred", True, configuration)
