"""Dataspace messages (format specification IV.A.2.b)."""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.errors import CorruptFile
from byteatlas_scanners.hdf5.format.wire import Form

MOST_DIMENSIONS = 32


class Dataspace(NamedTuple):
    """The extent of a dataset or attribute.

    Attributes:
        shape: () for a scalar, None for a null dataspace.
        most: the largest shape it may grow to; None along an axis = unlimited.
    """

    shape: tuple[int, ...] | None
    most: tuple[int | None, ...]


SCALAR = Dataspace((), ())
NULL = Dataspace(None, ())


def parse(form: Form, body: bytes) -> Dataspace:
    """Decode a dataspace message. Raises `CorruptFile`."""
    version, rank, flags = body[0], body[1], body[2]
    if version == 1:
        at = 8
    elif version == 2:
        at = 4
        if body[3] == 2:
            return NULL
        if (body[3] == 0 and rank) or body[3] > 2:
            raise CorruptFile(form.base, f"a dataspace of type {body[3]} and {rank} dimensions")
    else:
        raise CorruptFile(form.base, f"a dataspace of version {version}")
    if not rank:
        return SCALAR
    if rank > MOST_DIMENSIONS:
        raise CorruptFile(form.base, f"a dataspace of {rank} dimensions")
    width = form.lengths
    if at + rank * width * (2 if flags & 1 else 1) > len(body):
        raise CorruptFile(form.base, "a dataspace is cut off")
    shape = _sizes(body, at, rank, width)
    unlimited = (1 << (8 * width)) - 1
    most: tuple[int | None, ...] = shape
    if flags & 1:
        most = tuple(None if n == unlimited else n for n in _sizes(body, at + rank * width, rank, width))
        if any(m is not None and m < n for n, m in zip(shape, most, strict=True)):
            raise CorruptFile(form.base, f"a shape {shape} larger than its maximum {most}")
    if any(n == unlimited for n in shape):
        raise CorruptFile(form.base, "a dataspace of unlimited size")
    return Dataspace(shape, most)


def _sizes(body: bytes, at: int, rank: int, width: int) -> tuple[int, ...]:
    return tuple([int.from_bytes(body[i : i + width], "little") for i in range(at, at + rank * width, width)])
