"""CRC-32C (Castagnoli), as a library where one is installed, else in NumPy.

The NumPy way cuts the data into lanes that are advanced together, two bytes a step, and joined pairwise: the checksum
of a||b is the checksum of a, moved over the length of b, xor that of b. Moving is linear over GF(2), so that it is four
table look-ups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78
LANE = 256
"""Bytes of one lane; the joining tables are made for powers of two of it."""
SMALL = 8 * LANE

Table = NDArray[np.uint32]


@cache
def byte_table() -> Table:
    """The effect of one byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


@cache
def word_table() -> Table:
    """The effect of two bytes (low one first)."""
    table = byte_table()
    word = np.arange(1 << 16, dtype=np.uint32)
    once = table[word & 0xFF] ^ word >> 8
    twice: Table = (table[once & 0xFF] ^ once >> 8).astype(np.uint32)
    return twice


@cache
def _bytes_list() -> list[int]:
    return [int(x) for x in byte_table()]


def _short(data: bytes, state: int) -> int:
    table = _bytes_list()
    for octet in data:
        state = table[(state ^ octet) & 0xFF] ^ state >> 8
    return state


@cache
def _move(doublings: int) -> Table:
    """Four tables that move a state over ``LANE << doublings`` zero bytes."""
    basis = (np.uint32(1) << np.arange(32, dtype=np.uint32)).astype(np.uint32)
    if doublings:
        moved = _moved(_moved(basis, doublings - 1), doublings - 1)
    else:
        words = word_table()
        moved = basis
        for _ in range(LANE // 2):
            moved = words[moved & 0xFFFF] ^ moved >> 16
    tables = np.zeros((4, 256), np.uint32)
    values = np.arange(256)
    for bit in range(32):
        tables[bit // 8][(values >> (bit % 8)) & 1 == 1] ^= moved[bit]
    return tables


def _moved(state: Table, doublings: int) -> Table:
    tables = _move(doublings)
    found: Table = (
        tables[0][state & 0xFF] ^ tables[1][state >> 8 & 0xFF] ^ tables[2][state >> 16 & 0xFF] ^ tables[3][state >> 24]
    )
    return found


def in_numpy(data: Any) -> int:
    """CRC-32C of any bytes."""
    octets = np.frombuffer(data, np.uint8)
    if len(octets) < SMALL:
        return _short(octets.tobytes(), 0xFFFFFFFF) ^ 0xFFFFFFFF
    lanes = 1 << (len(octets) // LANE).bit_length() - 1
    head = lanes * LANE
    words = word_table()
    columns = np.ascontiguousarray(octets[:head].view("<u2").reshape(lanes, LANE // 2).T)
    state = np.zeros(lanes, np.uint32)
    state[0] = 0xFFFFFFFF
    for column in columns:
        state = words[state & 0xFFFF ^ column] ^ state >> 16
    doublings = 0
    while len(state) > 1:
        state = _moved(state[0::2], doublings) ^ state[1::2]
        doublings += 1
    rest = octets[head:]
    if len(rest) < SMALL:
        return _short(rest.tobytes(), int(state[0])) ^ 0xFFFFFFFF
    return _joined(int(state[0]), rest)


def _joined(state: int, rest: NDArray[np.uint8]) -> int:
    """Go on with a long rest: its own checksum from zero, joined to the state moved over its length."""
    size = len(rest) // LANE * LANE
    moved = np.array([state], np.uint32)
    for doubling in range((size // LANE).bit_length()):
        if size // LANE >> doubling & 1:
            moved = _moved(moved, doubling)
    start = in_numpy(rest[:size]) ^ 0xFFFFFFFF
    # in_numpy starts from all ones: take away what those ones became.
    ones = np.array([0xFFFFFFFF], np.uint32)
    for doubling in range((size // LANE).bit_length()):
        if size // LANE >> doubling & 1:
            ones = _moved(ones, doubling)
    joined = start ^ int(ones[0]) ^ int(moved[0])
    return _short(rest[size:].tobytes(), joined) ^ 0xFFFFFFFF


@cache
def _installed() -> Callable[[Any], int] | None:
    try:
        import google_crc32c
    except ImportError:
        return None
    if google_crc32c.implementation == "python":
        return None

    def compute(data: Any) -> int:
        return int(google_crc32c.value(bytes(data) if not isinstance(data, bytes) else data))

    return compute


def crc32c(data: Any) -> int:
    """CRC-32C of any bytes, by the fastest way at hand."""
    return (_installed() or in_numpy)(data)
