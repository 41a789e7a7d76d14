"""What the demonstration's picture shows, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Piece:
    """One chunk's bytes in a file. ``shown``: the slice in the picture was read from them."""

    array: str
    offset: int
    length: int
    shown: bool = False


@dataclass(frozen=True, slots=True)
class FileMap:
    """A file, its size in bytes, and the chunks in it."""

    name: str
    size: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What to draw.

    Attributes:
        cube: sea surface temperature, degrees Celsius, float64, shape (time, lat, lon); NaN on land, south first.
        files_at: for each time the number of the file that holds it, shape (time,).
        at: the time whose map is drawn, an index into ``cube``.
        when: its date.
        files: where the bytes of all chunks lie.
        checked: for each array how many of its values were compared with the HDF5 library's and found equal.
    """

    cube: NDArray[np.float64]
    files_at: NDArray[np.int64]
    at: int
    when: date
    files: tuple[FileMap, ...]
    checked: Mapping[str, int]
    title: str
    facts: str


@dataclass(frozen=True, slots=True)
class ArrayBytes:
    """One line of the table: what an array, or several small ones, take in all files."""

    name: str
    chunks: int
    bytes: int
    checked: int


def zonal_means(cube: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each latitude at each time, shape (lat, time); NaN where there is no sea."""
    sea = ~np.isnan(cube)
    count = sea.sum(axis=2)
    total = np.where(sea, cube, 0).sum(axis=2)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).T


def grouped(files: Sequence[FileMap]) -> tuple[FileMap, ...]:
    """The same files with all arrays of less than half a per cent of the bytes under one name."""
    sizes = _sizes(files)
    small = sorted(n for n in sizes if sizes[n] * 200 < sum(sizes.values()))
    if len(small) < 2:
        return tuple(files)
    joined = ", ".join(small)
    return tuple(
        replace(f, pieces=tuple(replace(p, array=joined) if p.array in small else p for p in f.pieces)) for f in files
    )


def array_table(files: Sequence[FileMap], checked: Mapping[str, int]) -> list[ArrayBytes]:
    """A line for each array name in ``files``, the most bytes first; joined names as `grouped` writes them."""
    sizes = _sizes(files)
    chunks = dict.fromkeys(sizes, 0)
    for file in files:
        for piece in file.pieces:
            chunks[piece.array] += 1
    return [
        ArrayBytes(name, chunks[name], sizes[name], sum(checked.get(part, 0) for part in name.split(", ")))
        for name in sorted(sizes, key=lambda name: -sizes[name])
    ]


def _sizes(files: Sequence[FileMap]) -> dict[str, int]:
    """Bytes of each array in all files."""
    sizes: dict[str, int] = {}
    for file in files:
        for piece in file.pieces:
            sizes[piece.array] = sizes.get(piece.array, 0) + piece.length
    return sizes
