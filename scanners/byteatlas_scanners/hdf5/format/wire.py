"""Little-endian fields, addresses and checksums: what every structure of an HDF5 file is made of.

A `Form` holds what is common to a whole file (base address, field widths, B-tree ranks). Structures are decoded with
precompiled structs where there are many of them, and with a `Cursor` where there are few. Anything that reads past its
block raises `CorruptFile`, or one of the errors in ``MALFORMED``, which the object boundary turns into it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from byteatlas.checksums import lookup3, lookup3_function
from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import SourceInfo
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

MALFORMED = (struct.error, IndexError, ValueError, OverflowError)
"""What decoding damaged bytes may raise besides `CorruptFile`: a field that is cut off, text that is not text, ..."""


@dataclass(frozen=True, slots=True)
class Form:
    """The sizes and places that hold for a whole file (format specification II.A "Superblock").

    Attributes:
        source: the file.
        base: byte of the file that is address 0 (the end of the user block).
        size: bytes from there to the end of the file.
        offsets, lengths: widths of addresses and lengths, in bytes.
        undefined: the address that means "nowhere".
        leaf_k, group_k, chunk_k: ranks of version 1 B-trees (half the entries of a full node).
        shared_table: address of the table of shared messages, if any.
        shared_indexes: number of indexes in that table.
    """

    source: SourceInfo
    base: int
    size: int
    offsets: int
    lengths: int
    undefined: int
    leaf_k: int = 4
    group_k: int = 16
    chunk_k: int = 32
    shared_table: int | None = None
    shared_indexes: int = 0

    def block(self, address: int, length: int) -> ByteRange:
        """Ask for exactly these bytes. Raises `CorruptFile` when they are not wholly inside the file."""
        if address + length > self.size or address < 0 or length < 0:
            raise CorruptFile(address + self.base, f"a structure of {length} bytes lies outside of the file")
        return ByteRange(address + self.base, length)

    def some(self, address: int, length: int) -> ByteRange:
        """Ask for up to ``length`` bytes, fewer at the end of the file. Raises `CorruptFile` when there are none."""
        if not 0 <= address < self.size:
            raise CorruptFile(address + self.base, "an address outside of the file")
        return ByteRange(address + self.base, min(length, self.size - address))


class Cursor:
    """Reads fields one after the other from a block of metadata; never past its end."""

    __slots__ = ("at", "data", "end", "form")

    def __init__(self, form: Form, data: Buffer, at: int = 0) -> None:
        self.form, self.data, self.at, self.end = form, data, at, len(data)

    def uint(self, width: int) -> int:
        """An unsigned integer of ``width`` bytes."""
        at = self.at
        stop = at + width
        if stop > self.end:
            raise CorruptFile(at, "a structure is cut off")
        self.at = stop
        return int.from_bytes(self.data[at:stop], "little")

    def u8(self) -> int:
        return self.uint(1)

    def u16(self) -> int:
        return self.uint(2)

    def u32(self) -> int:
        return self.uint(4)

    def u64(self) -> int:
        return self.uint(8)

    def length(self) -> int:
        return self.uint(self.form.lengths)

    def address(self) -> int | None:
        """An address; None when it is the undefined one."""
        value = self.uint(self.form.offsets)
        return None if value == self.form.undefined else value

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        at = self.at
        stop = at + count
        if count < 0 or stop > self.end:
            raise CorruptFile(at, "a structure is cut off")
        self.at = stop
        return bytes(self.data[at:stop])

    def skip(self, count: int) -> None:
        self.at += count

    def text(self) -> bytes:
        """Bytes up to the next NUL, which is skipped."""
        data = bytes(self.data[self.at : self.end])
        stop = data.find(b"\0")
        if stop < 0:
            raise CorruptFile(self.at, "a name without an end")
        self.at += stop + 1
        return data[:stop]

    def expect(self, signature: bytes, *versions: int) -> int:
        """The signature of a structure and its version, which is returned. Raises `CorruptFile`."""
        found = self.take(len(signature))
        if found != signature:
            raise CorruptFile(self.at - len(signature), f"{found!r} where {signature!r} should be")
        version = self.u8()
        if version not in versions:
            raise CorruptFile(self.at - 1, f"{signature!r} of unknown version {version}")
        return version


def verify(data: Buffer, address: int, what: str) -> None:
    """Check the checksum in the last four bytes of a structure. Raises `CorruptFile`."""
    if len(data) < 4 or int.from_bytes(data[-4:], "little") != lookup3(data[:-4]):
        raise CorruptFile(address, f"wrong checksum of {what}")


def verify_all(blocks: Sequence[Buffer], what: str) -> None:
    """Check many structures, each with its checksum in its last four bytes."""
    check, number = lookup3_function(), int.from_bytes
    for data in blocks:
        if number(data[-4:], "little") != check(data[:-4]):
            raise CorruptFile(0, f"wrong checksum of {what}")


def width_of(value: int) -> int:
    """Bytes needed for an unsigned integer (at least one): H5VM_limit_enc_size.

    >>> width_of(0), width_of(255), width_of(256)
    (1, 1, 2)
    """
    return max(1, (value.bit_length() + 7) // 8)
