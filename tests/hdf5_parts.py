"""Structures of HDF5 files, byte by byte and with their checksums: sound ones, and ones with a single wrong field.

All lie behind a user block, so that a place in the file is never the address within it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeVar

from tests.scanning import run

from byteatlas.checksums import lookup3
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse
from byteatlas_scanners.hdf5.format.wire import Form

T = TypeVar("T")

BASE = 512
SIZE = 1 << 16
NOWHERE = 2**64 - 1
FORM = Form(SourceInfo("memory://file", BASE + SIZE), BASE, SIZE, 8, 8, NOWHERE)

Pieces = Mapping[int, bytes]
"""Structures by their addresses."""


def summed(data: bytes) -> bytes:
    """A structure with its checksum."""
    return data + lookup3(data).to_bytes(4, "little")


def u64(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def image(pieces: Pieces, size: int = SIZE) -> bytes:
    """A file of these structures."""
    data = bytearray(BASE + size)
    for address, piece in pieces.items():
        data[BASE + address : BASE + address + len(piece)] = piece
    return bytes(data)


def parsed(parser: Parse[T], pieces: Pieces) -> T:
    """What a parser makes of a file of these structures."""
    return run(parser, image(pieces))


def parsing(make: Callable[[], Parse[T]], pieces: Pieces) -> Callable[[], T]:
    """The same, later."""
    return lambda: parsed(make(), pieces)


# --------------------------------------------------------------------------------------- object headers


def message1(kind: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("<HHB3x", kind, len(body), flags) + body


def header1(*messages: bytes, count: int | None = None, size: int | None = None) -> bytes:
    """A header of version 1."""
    body = b"".join(messages)
    number = len(messages) if count is None else count
    return struct.pack("<BxHII4x", 1, number, 1, len(body) if size is None else size) + body


def message2(kind: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("<BHB", kind, len(body), flags) + body


def header2(*messages: bytes, flags: int = 2, version: int = 2, size: int | None = None) -> bytes:
    """A header of version 2 with its checksum; ``flags`` 2: the size takes four bytes."""
    body = b"".join(messages)
    return summed(b"OHDR" + struct.pack("<BBI", version, flags, len(body) if size is None else size) + body)


# --------------------------------------------------------------------------------------- B-trees and heaps


def tree2(
    kind: int, record: int, total: int, *, root: int = 4096, depth: int = 0, node: int = 512, in_root: int | None = None
) -> bytes:
    """A version 2 B-tree's header."""
    head = struct.pack("<4sBBIHHBBQH", b"BTHD", 0, kind, node, record, depth, 100, 40, root, in_root or 0)
    if in_root is None:
        head = head[:-2] + struct.pack("<H", total)
    return summed(head + u64(total))


def leaf2(kind: int, records: bytes, signature: bytes = b"BTLF\0") -> bytes:
    return summed(signature + bytes((kind,)) + records)


def heap_header(
    *, id_size: int = 7, filtered: bytes = b"", flags: int = 2, huge: int = NOWHERE, width: int = 4, start: int = 512,
    largest: int = 65536, bits: int = 32, root: int = 8192, rows: int = 0, signature: bytes = b"FRHP\0",
    most: int = 4096, stored: int = 0, managed: int = 1 << 20,
) -> bytes:  # fmt: skip
    """A fractal heap's header; ``filtered``: its filter pipeline message."""
    head = signature + struct.pack("<HHBIQQQQ", id_size, len(filtered), flags, most, 0, huge, 0, NOWHERE)
    head += u64(managed, *([0] * 7)) + struct.pack("<HQQHHQH", width, start, largest, bits, 1, root, rows)
    if filtered:
        head += struct.pack("<QI", stored, 0) + filtered
    return summed(head)


def direct_block(
    payload: bytes, *, owner: int = 2048, begin: int = 0, size: int = 512, width: int = 4, checked: bool = True
) -> bytes:
    """A fractal heap's direct block: objects begin right behind its head."""
    head = b"FHDB\0" + u64(owner) + begin.to_bytes(width, "little")
    if not checked:
        return (head + payload).ljust(size, b"\0")
    whole = (head + bytes(4) + payload).ljust(size, b"\0")
    return whole[: len(head)] + lookup3(whole).to_bytes(4, "little") + whole[len(head) + 4 :]


def indirect_block(*entries: bytes, owner: int = 2048, begin: int = 0, width: int = 4) -> bytes:
    return summed(b"FHIB\0" + u64(owner) + begin.to_bytes(width, "little") + b"".join(entries))
