"""Code words of ITU-T T.4 (tables 2, 3a, 3b) and T.6 (table 1), as tables that are looked up by the next bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

LONGEST, LONGEST_MODE = 13, 7
"""Bits that tell every run, or every mode."""
MAKE_UP = 64
"""Runs of at least this many pixels go on: another code word follows."""
EOL_ZEROS = 11
"""Zeros in front of the one that ends an end-of-line code."""

RowMode: TypeAlias = Literal["pass", "horizontal"] | int
"""How a two-dimensional row goes on; a number is where the change lies beside that of the row above."""

WHITE = (
    "00110101 000111 0111 1000 1011 1100 1110 1111 10011 10100 00111 01000 001000 000011 110100 110101 101010 101011 "
    "0100111 0001100 0001000 0010111 0000011 0000100 0101000 0101011 0010011 0100100 0011000 00000010 00000011 "
    "00011010 00011011 00010010 00010011 00010100 00010101 00010110 00010111 00101000 00101001 00101010 00101011 "
    "00101100 00101101 00000100 00000101 00001010 00001011 01010010 01010011 01010100 01010101 00100100 00100101 "
    "01011000 01011001 01011010 01011011 01001010 01001011 00110010 00110011 00110100"
)
WHITE_MAKE_UP = (
    "11011 10010 010111 0110111 00110110 00110111 01100100 01100101 01101000 01100111 011001100 011001101 011010010 "
    "011010011 011010100 011010101 011010110 011010111 011011000 011011001 011011010 011011011 010011000 010011001 "
    "010011010 011000 010011011"
)
BLACK = (
    "0000110111 010 11 10 011 0011 0010 00011 000101 000100 0000100 0000101 0000111 00000100 00000111 000011000 "
    "0000010111 0000011000 0000001000 00001100111 00001101000 00001101100 00000110111 00000101000 00000010111 "
    "00000011000 000011001010 000011001011 000011001100 000011001101 000001101000 000001101001 000001101010 "
    "000001101011 000011010010 000011010011 000011010100 000011010101 000011010110 000011010111 000001101100 "
    "000001101101 000011011010 000011011011 000001010100 000001010101 000001010110 000001010111 000001100100 "
    "000001100101 000001010010 000001010011 000000100100 000000110111 000000111000 000000100111 000000101000 "
    "000001011000 000001011001 000000101011 000000101100 000001011010 000001100110 000001100111"
)
BLACK_MAKE_UP = (
    "0000001111 000011001000 000011001001 000001011011 000000110011 000000110100 000000110101 0000001101100 "
    "0000001101101 0000001001010 0000001001011 0000001001100 0000001001101 0000001110010 0000001110011 0000001110100 "
    "0000001110101 0000001110110 0000001110111 0000001010010 0000001010011 0000001010100 0000001010101 0000001011010 "
    "0000001011011 0000001100100 0000001100101"
)
BOTH_MAKE_UP = (
    "00000001000 00000001100 00000001101 000000010010 000000010011 000000010100 000000010101 000000010110 000000010111 "
    "000000011100 000000011101 000000011110 000000011111"
)
"""Runs of 1792 to 2560 pixels, of either colour."""
MODES: Mapping[str, RowMode] = {
    "0001": "pass", "001": "horizontal", "1": 0, "011": 1, "000011": 2, "0000011": 3, "010": -1, "000010": -2,
    "0000010": -3,
}  # fmt: skip


@lru_cache(maxsize=1)
def runs() -> tuple[Sequence[tuple[int, int] | None], Sequence[tuple[int, int] | None]]:
    """By the next `LONGEST` bits: the length of a white and of a black run, and bits of its code word."""
    return _runs(WHITE, WHITE_MAKE_UP), _runs(BLACK, BLACK_MAKE_UP)


def _runs(short: str, long: str) -> Sequence[tuple[int, int] | None]:
    words = {word: run for run, word in enumerate(short.split())}
    words |= {word: MAKE_UP * i for i, word in enumerate((*long.split(), *BOTH_MAKE_UP.split()), 1)}
    table: list[tuple[int, int] | None] = [None] * (1 << LONGEST)
    for word, run in words.items():
        for at in _positions(word, LONGEST):
            table[at] = run, len(word)
    return table


@lru_cache(maxsize=1)
def modes() -> Sequence[tuple[RowMode, int] | None]:
    """By the next `LONGEST_MODE` bits: the mode, and bits of its code word."""
    table: list[tuple[RowMode, int] | None] = [None] * (1 << LONGEST_MODE)
    for word, mode in MODES.items():
        for at in _positions(word, LONGEST_MODE):
            table[at] = mode, len(word)
    return table


def _positions(word: str, bits: int) -> range:
    """The numbers of so many bits that begin with a code word."""
    free = bits - len(word)
    return range(int(word, 2) << free, (int(word, 2) + 1) << free)
