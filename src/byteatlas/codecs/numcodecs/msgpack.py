"""MessagePack, as much as ``msgpack2`` writes: everything but extension types. Bounded in depth and in counts."""

from __future__ import annotations

import struct
from typing import Any

from byteatlas.errors import CorruptChunk, InvalidMetadata

MOST_NESTING = 64
NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
    0xD3: ">q",
}  # fmt: skip
CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
LENGTHS = {1: ">B", 2: ">H", 4: ">I"}


class _Reader:
    def __init__(self, data: bytes, raw: bool) -> None:
        self.data, self.raw, self.at = data, raw, 0

    def take(self, n: int) -> bytes:
        if self.at + n > len(self.data):
            raise CorruptChunk("msgpack: the data end within a value")
        found = self.data[self.at : self.at + n]
        self.at += n
        return found

    def length(self, size: int) -> int:
        (n,) = struct.unpack(LENGTHS[size], self.take(size))
        return int(n)

    def text(self, n: int) -> Any:
        found = self.take(n)
        if self.raw:
            return found
        try:
            return found.decode()
        except UnicodeDecodeError as error:
            raise CorruptChunk(f"msgpack: {error}") from error

    def items(self, n: int, depth: int) -> list[Any]:
        if n > len(self.data) - self.at:
            raise CorruptChunk(f"msgpack: {n} elements in {len(self.data) - self.at} bytes")
        return [self.value(depth + 1) for _ in range(n)]

    def pairs(self, n: int, depth: int) -> dict[Any, Any]:
        flat = self.items(2 * n, depth)
        try:
            return dict(zip(flat[::2], flat[1::2], strict=True))
        except TypeError as error:
            raise CorruptChunk(f"msgpack: {error}") from error

    def value(self, depth: int = 0) -> Any:
        if depth > MOST_NESTING:
            raise CorruptChunk("msgpack: nested too deep")
        code = self.take(1)[0]
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 256
        if code < 0x90:
            return self.pairs(code & 15, depth)
        if code < 0xA0:
            return self.items(code & 15, depth)
        if code < 0xC0:
            return self.text(code & 31)
        if code in CONSTANTS:
            return CONSTANTS[code]
        if code in NUMBERS:
            return struct.unpack(NUMBERS[code], self.take(struct.calcsize(NUMBERS[code])))[0]
        return self._sized(code, depth)

    def _sized(self, code: int, depth: int) -> Any:
        match code:
            case 0xC4 | 0xC5 | 0xC6:
                return self.take(self.length(1 << (code - 0xC4)))
            case 0xD9 | 0xDA | 0xDB:
                return self.text(self.length(1 << (code - 0xD9)))
            case 0xDC | 0xDD:
                return self.items(self.length(2 << (code - 0xDC)), depth)
            case 0xDE | 0xDF:
                return self.pairs(self.length(2 << (code - 0xDE)), depth)
        raise CorruptChunk(f"msgpack: a value of type {code:#x}")


def loads(data: bytes, *, raw: bool = False) -> Any:
    """The value of a MessagePack document; text as bytes when ``raw``. Raises `CorruptChunk`.

    >>> loads(bytes.fromhex("93 01 a1 78 c0"))
    [1, 'x', None]
    """
    reader = _Reader(data, raw)
    found = reader.value()
    if reader.at != len(data):
        raise CorruptChunk(f"msgpack: {len(data) - reader.at} bytes after the value")
    return found


def dumps(value: Any, *, binary: bool = True) -> bytes:
    """A MessagePack document; bytes as the binary type, or (not ``binary``) as text.

    >>> dumps([1, "x", None]).hex(" ")
    '93 01 a1 78 c0'
    """
    out = bytearray()
    _put(out, value, binary, 0)
    return bytes(out)


def _head(out: bytearray, n: int, fixed: tuple[int, int] | None, codes: tuple[int | None, int, int]) -> None:
    """A length: within the type's byte when it is small, else after one of three codes (1, 2, 4 bytes)."""
    if fixed is not None and n < fixed[1]:
        out.append(fixed[0] | n)
        return
    for code, size in zip(codes, (1, 2, 4), strict=True):
        if code is not None and n < 1 << (8 * size):
            out.append(code)
            out += n.to_bytes(size, "big")
            return
    raise InvalidMetadata("", f"msgpack: a value of length {n}")


def _put(out: bytearray, value: Any, binary: bool, depth: int) -> None:
    if depth > MOST_NESTING:
        raise InvalidMetadata("", "msgpack: nested too deep")
    match value:
        case None:
            out.append(0xC0)
        case bool():
            out.append(0xC3 if value else 0xC2)
        case int():
            _put_integer(out, value)
        case float():
            out += b"\xcb" + struct.pack(">d", value)
        case str():
            data = value.encode()
            _head(out, len(data), (0xA0, 32), (0xD9 if binary else None, 0xDA, 0xDB))
            out += data
        case bytes():
            _head(out, len(value), None if binary else (0xA0, 32), (0xC4, 0xC5, 0xC6) if binary else (None, 0xDA, 0xDB))
            out += value
        case list() | tuple():
            _head(out, len(value), (0x90, 16), (None, 0xDC, 0xDD))
            for item in value:
                _put(out, item, binary, depth + 1)
        case dict():
            _head(out, len(value), (0x80, 16), (None, 0xDE, 0xDF))
            for key, item in value.items():
                _put(out, key, binary, depth + 1)
                _put(out, item, binary, depth + 1)
        case _:
            raise InvalidMetadata("", f"msgpack: a value of type {type(value).__name__}")


def _put_integer(out: bytearray, value: int) -> None:
    if -32 <= value < 128:
        out.append(value & 0xFF)
        return
    kinds = (0xCC, 0xCD, 0xCE, 0xCF) if value >= 0 else (0xD0, 0xD1, 0xD2, 0xD3)
    for code in kinds:
        try:
            out += bytes([code]) + struct.pack(NUMBERS[code], value)
        except struct.error:
            continue
        return
    raise InvalidMetadata("", f"msgpack: the integer {value}")
