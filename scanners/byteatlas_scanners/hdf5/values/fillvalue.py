"""Fill value messages, old and new (format specification IV.A.2.e and f), and what a missing chunk reads as."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.meta.elements import decode, dtype
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass
from byteatlas_scanners.hdf5.values.zarr_type import layout

ON_ALLOCATION, NEVER, IF_SET = range(3)
"""When fill values are written."""

_U32 = struct.Struct("<I").unpack_from


@dataclass(frozen=True, slots=True)
class Fill:
    """A dataset's fill value.

    Attributes:
        defined: False when the file says that there is none.
        value: the bytes of one element in the dataset's datatype; None = the default, zero.
        when: when it is written; with NEVER libhdf5 does not apply it when reading either.
    """

    defined: bool = True
    value: bytes | None = None
    when: int = IF_SET

    @property
    def effective(self) -> bytes | None:
        """The bytes that elements nobody wrote read as; None = zero.

        Where libhdf5 leaves the caller's buffer alone (undefined, or never filled), that buffer is zero in
        every binding for Python.
        """
        return self.value if self.defined and self.when != NEVER else None


DEFAULT = Fill()


def parse_old(body: bytes) -> Fill:
    """The old message (type 4): a size and that many bytes. Raises `CorruptFile`."""
    try:
        (size,) = _U32(body, 0)
    except struct.error as error:
        raise CorruptFile(0, "a fill value message is cut off") from error
    return Fill(value=_bytes(body, 4, size))


def parse(body: bytes) -> Fill:
    """The new message (type 5), versions 1 to 3. Raises `CorruptFile`."""
    try:
        return _parse(body)
    except (struct.error, IndexError) as error:
        raise CorruptFile(0, "a fill value message is cut off") from error


def _parse(body: bytes) -> Fill:
    version = body[0]
    if version in (1, 2):
        when, defined = body[2], bool(body[3])
        if version == 2 and not defined:
            return Fill(False, None, when)
        (size,) = struct.unpack_from("<i", body, 4)
        if size < 0:
            return Fill(False, None, when)
        return Fill(defined, _bytes(body, 8, size), when)
    if version != 3:
        raise CorruptFile(0, f"a fill value message of version {version}")
    flags = body[1]
    when = flags >> 2 & 3
    if flags & 0x10:
        return Fill(False, None, when)
    if flags & 0x20:
        (size,) = _U32(body, 2)
        return Fill(True, _bytes(body, 6, size), when)
    return Fill(True, None, when)


def _bytes(body: bytes, at: int, size: int) -> bytes | None:
    if at + size > len(body):
        raise CorruptFile(at, "a fill value is cut off")
    return body[at : at + size] if size else None


def resolve(fill: Fill, dt: Datatype) -> Any:
    """The value, a NumPy scalar of the array's data type, that a missing chunk reads as.

    ``dt`` has elements of fixed size. Raises `Unsupported` for an array datatype whose fill value is not one number.
    """
    while dt.kind is DatatypeClass.ARRAY and dt.base is not None:
        fill, dt = _of_base(fill, dt, dt.base), dt.base
    found = layout(dt)
    raw = fill.effective
    if raw is None:
        return np.zeros((), dtype(found))[()]
    if len(raw) != dt.size:
        raise CorruptFile(0, f"a fill value of {len(raw)} bytes for elements of {dt.size}")
    return decode(found, np.frombuffer(raw, np.uint8).reshape(1, dt.size))[0]


def _of_base(fill: Fill, dt: Datatype, base: Datatype) -> Fill:
    """The fill value of an array datatype's elements, which must all be the same."""
    raw = fill.effective
    if raw is None:
        return Fill()
    if len(raw) != dt.size:
        raise CorruptFile(0, f"a fill value of {len(raw)} bytes for elements of {dt.size}")
    parts = {raw[i : i + base.size] for i in range(0, len(raw), base.size)}
    if len(parts) > 1:
        raise Unsupported(Reason.DATATYPE, "an array datatype whose fill value is not the same in all places")
    return Fill(value=parts.pop())
