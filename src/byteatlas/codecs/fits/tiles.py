"""``byteatlas.fits_tile``: one tile of a compressed image (FITS 4.0, section 10; the tiled image convention).

Configuration:

- ``algorithm``: ``RICE_1``, ``GZIP_1``, ``GZIP_2``, ``PLIO_1``, ``HCOMPRESS_1`` or ``NOCOMPRESS``;
- ``bytepix``, ``blocksize``: of RICE_1; ``smooth``: of HCOMPRESS_1;
- ``unsigned``: integers with an offset of half their range (`byteatlas.codecs.fits.unsigned`);
- ``scale``, ``zero``, ``dither`` (0: none, 1 or 2: the method), ``start``, ``blank``: of quantised floating-point
  numbers (`byteatlas.codecs.fits.dither`); without ``scale`` the tile holds the numbers themselves;
- ``parts``: the chunk is several tiles behind each other, of which each has a ``length`` in bytes and may have members
  that differ from these; they follow each other along ``axis``, ``step`` pixels each, but for the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard, at_least, decode_only
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep, encoded_limit
from byteatlas.codecs.core.options import Configuration, choice, flag, integer, number, only
from byteatlas.codecs.fits.dither import COUNT, Quantised, quantised_run
from byteatlas.codecs.fits.hcompress import decode_hcompress
from byteatlas.codecs.fits.plio import decode_plio
from byteatlas.codecs.fits.unsigned import check_flips, flip
from byteatlas.codecs.streams.compression import as_bytes, imagecodecs_function
from byteatlas.codecs.streams.members import inflate
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

NAME = "byteatlas.fits_tile"
MEMBERS = (
    "algorithm", "bytepix", "blocksize", "smooth", "unsigned", "scale", "zero", "dither", "start", "blank",
)  # fmt: skip
MOST_PARTS = 1 << 16
MOST_PIXEL = 8
"""Bytes of a stored pixel."""

UnpackTile: TypeAlias = Callable[["Tile", Any, ArraySpec, np.dtype[Any]], NDArray[Any]]
"""Encoded bytes to the stored numbers, flat; the last argument is their type where nothing else says it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The codec. ``quantised`` None: the numbers themselves are stored."""

    algorithm: str
    bytepix: int
    blocksize: int
    smooth: bool
    unsigned: bool
    quantised: Quantised | None

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        dtype, count, quantised = spec.dtype, spec.size, self.quantised
        if dtype.kind not in "iuf" or (quantised is not None and dtype.kind != "f"):
            raise invalid(f"not for {spec.data_type.name}")
        if self.unsigned:
            check_flips(dtype)
        if self.algorithm in ("RICE_1", "PLIO_1", "HCOMPRESS_1") and dtype.kind == "f" and quantised is None:
            raise invalid(f"{self.algorithm} of floating-point numbers that are not quantised")
        plain, unpack = _stored(dtype, self.unsigned), UNPACK[self.algorithm]

        def decode(data: Bytes) -> NDArray[Any]:
            found = unpack(self, as_bytes(data), spec, plain)
            if len(found) != count:
                raise CorruptChunk(f"{NAME}: {len(found)} pixels in a tile of {count}")
            if quantised is not None:
                return quantised.restore(found, dtype).reshape(spec.shape)
            values: NDArray[Any] = found.astype(plain, copy=False)
            if self.unsigned:
                values = flip(np.array(values).view(dtype))
            return values.reshape(spec.shape)

        limit = encoded_limit(MOST_PIXEL * count)
        return SerializerStep(None, limit, decode, decode_only(NAME), dtype.itemsize)


def _stored(dtype: np.dtype[Any], unsigned: bool) -> np.dtype[Any]:
    """The native type of the stored numbers: FITS has unsigned bytes, and signed integers of all other sizes."""
    if not unsigned:
        return dtype
    return np.dtype(np.uint8 if dtype.itemsize == 1 else f"i{dtype.itemsize}")


def _rice(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    at_least("rice", len(data), 1)
    dtype = np.dtype(np.uint8 if tile.bytepix == 1 else f"i{tile.bytepix}")
    with DamageGuard("rice"):
        found: NDArray[Any] = imagecodecs_function("rcomp_decode")(
            data, shape=(spec.size,), dtype=dtype, nblock=tile.blocksize
        )
    return found


def _plio(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    return decode_plio(data, spec.size)


def _hcompress(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    sides = [n for n in spec.shape if n != 1]
    if len(sides) != 2:
        raise CorruptChunk(f"hcompress: a tile of shape {spec.shape} is no image")
    return decode_hcompress(data, sides[0], sides[1], tile.smooth).reshape(-1)


def _gzip(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    """Big-endian numbers; how many bytes they have follows from how many there are."""
    return _numbers(tile, inflate(data, 31, MOST_PIXEL * spec.size), spec, plain)


def _shuffled(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    """The same; first the first bytes of all numbers, then the second ones."""
    flat = inflate(data, 31, MOST_PIXEL * spec.size)
    item = len(flat) // max(1, spec.size)
    if item * spec.size != len(flat):
        raise CorruptChunk(f"gzip: {len(flat)} bytes for a tile of {spec.size} pixels")
    ordered = np.frombuffer(flat, np.uint8).reshape(item, spec.size).T
    return _numbers(tile, np.ascontiguousarray(ordered).reshape(-1), spec, plain)


def _numbers(tile: Tile, data: Any, spec: ArraySpec, plain: np.dtype[Any]) -> NDArray[Any]:
    item = len(data) // max(1, spec.size)
    if item not in (1, 2, 4, 8) or item * spec.size != len(data):
        raise CorruptChunk(f"{tile.algorithm}: {len(data)} bytes for a tile of {spec.size} pixels")
    kind = "f" if plain.kind == "f" and tile.quantised is None else "u" if item == 1 else "i"
    if kind == "f" and item != plain.itemsize:
        raise CorruptChunk(f"{tile.algorithm}: pixels of {item} bytes in an image of {plain}")
    stored = np.dtype(f">{kind}{item}")
    return np.frombuffer(data, stored).astype(stored.newbyteorder("="))


UNPACK: Mapping[str, UnpackTile] = {
    "RICE_1": _rice,
    "PLIO_1": _plio,
    "HCOMPRESS_1": _hcompress,
    "GZIP_1": _gzip,
    "GZIP_2": _shuffled,
    "NOCOMPRESS": _numbers,
}


@dataclass(frozen=True, slots=True)
class TileRun:
    """The codec for chunks of several tiles.

    Attributes:
        lengths: bytes of each tile.
    """

    tiles: tuple[Tile, ...]
    lengths: tuple[int, ...]
    axis: int
    step: int

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if not self.axis < len(spec.shape) or -(-spec.shape[self.axis] // self.step) != len(self.tiles):
            raise invalid(f"{len(self.tiles)} tiles in a chunk of shape {spec.shape}")
        limit = encoded_limit(MOST_PIXEL * spec.size)
        decode = self._together(spec) or self._one_by_one(spec, context)
        return SerializerStep(None, limit, decode, decode_only(NAME), spec.dtype.itemsize)

    def _one_by_one(self, spec: ArraySpec, context: ChainContext) -> Callable[[Bytes], NDArray[Any]]:
        """Each tile into its part of the chunk."""
        whole, end = spec.shape[self.axis], sum(self.lengths)
        before, after = spec.shape[: self.axis], spec.shape[self.axis + 1 :]
        jobs: list[tuple[int, int, tuple[slice, ...], Callable[[Bytes], NDArray[Any]]]] = []
        at = 0
        for i, (tile, length) in enumerate(zip(self.tiles, self.lengths, strict=True)):
            first, last = i * self.step, min(whole, (i + 1) * self.step)
            part = ArraySpec((*before, last - first, *after), spec.data_type)
            step = tile.bind_serializer(part, context)
            jobs.append((at, at + length, (*(slice(None),) * self.axis, slice(first, last)), step.decode))
            at += length

        def decode(data: Bytes) -> NDArray[Any]:
            at_least(NAME, len(data), end)
            view, out = memoryview(data).cast("B"), np.empty(spec.shape, spec.dtype)
            for begin, stop, where, unpack in jobs:
                out[where] = unpack(view[begin:stop])
            return out

        return decode

    def _together(self, spec: ArraySpec) -> Callable[[Bytes], NDArray[Any]] | None:
        """All tiles into one array of integers, which becomes numbers at once; None when they are not alike."""
        count = spec.size // len(self.tiles)
        run = quantised_run([t.quantised for t in self.tiles], count)
        alike = all(t.algorithm == "RICE_1" and t.bytepix == 4 for t in self.tiles)
        even = count * len(self.tiles) == spec.size and spec.shape[self.axis] % self.step == 0
        if run is None or spec.dtype.kind != "f" or not alike or not even or prod(spec.shape[: self.axis]) != 1:
            return None
        ends = np.cumsum(self.lengths).tolist()
        places = list(zip([0, *ends[:-1]], ends, [t.blocksize for t in self.tiles], strict=True))

        def decode(data: Bytes) -> NDArray[Any]:
            at_least(NAME, len(data), ends[-1])
            view, stored = memoryview(data).cast("B"), np.empty((len(places), count), np.int32)
            unpack = imagecodecs_function("rcomp_decode")
            for row, (begin, end, block) in zip(stored, places, strict=True):
                at_least("rice", end - begin, 1)
                with DamageGuard("rice"):
                    unpack(view[begin:end], nblock=block, out=row)
            return run.restore(stored, spec.dtype).reshape(spec.shape)

        return decode


def make(configuration: Configuration) -> Tile | TileRun:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    if configuration.get("parts") is None:
        only(configuration, *MEMBERS)
        return _tile(configuration)
    only(configuration, *MEMBERS, "parts", "axis", "step")
    parts = configuration["parts"]
    if (
        not isinstance(parts, list)
        or not 0 < len(parts) <= MOST_PARTS
        or not all(isinstance(p, Mapping) for p in parts)
    ):
        raise invalid("parts: not a list of tiles")
    base = {key: value for key, value in configuration.items() if key in MEMBERS}
    tiles: list[Tile] = []
    for part in parts:
        only(part, "length", *MEMBERS)
        tiles.append(_tile({**base, **part}))
    lengths = tuple(integer(part, "length", least=0, most=1 << 40) for part in parts)
    axis, step = integer(configuration, "axis", least=0, most=64), integer(configuration, "step", least=1)
    return TileRun(tuple(tiles), lengths, axis, step)


def _tile(configuration: Configuration) -> Tile:
    quantised = None
    if configuration.get("scale") is not None:
        blank = None if configuration.get("blank") is None else integer(configuration, "blank")
        quantised = Quantised(
            float(number(configuration, "scale")),
            float(number(configuration, "zero", 0.0)),
            choice(configuration, "dither", (0, 1, 2), 0),
            integer(configuration, "start", 0, least=0, most=COUNT - 1),
            blank,
        )
    return Tile(
        choice(configuration, "algorithm", tuple(UNPACK)),
        choice(configuration, "bytepix", (1, 2, 4), 4),
        integer(configuration, "blocksize", 32, least=1, most=1 << 16),
        flag(configuration, "smooth", False),
        flag(configuration, "unsigned", False),
        quantised,
    )
