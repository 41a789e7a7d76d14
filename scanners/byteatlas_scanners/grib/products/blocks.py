"""Templates made ready for reading: neighbouring blocks of octets are unpacked in one step."""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

from byteatlas.scanning.grib import sign_and_magnitude
from byteatlas.types import JSON
from byteatlas_scanners.grib.products.templates import BLOCKS, REPEATED, TEMPLATES, Key, keys_of

CODES = {1: "B", 2: "H", 4: "I"}


class KeyReader(NamedTuple):
    """Keys of a fixed length.

    Attributes:
        special: numbers of the keys that have a sign or may be missing, with their octets.
    """

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    form: struct.Struct
    special: tuple[tuple[str, int, bool, bool], ...]

    def into(self, data: bytes, at: int, found: dict[str, JSON]) -> int:
        """Read the keys from a place on; the place behind them. What the section does not have is left out."""
        if at + self.form.size > len(data):
            return self._some(data, at, found)
        found.update(zip(self.names, self.form.unpack_from(data, at), strict=True))
        for name, octets, signed, missing in self.special:
            value = found[name]
            assert isinstance(value, int)
            if missing and value == (1 << 8 * octets) - 1:
                found[name] = None
            elif signed:
                found[name] = sign_and_magnitude(value, 8 * octets)
        return at + self.form.size

    def _some(self, data: bytes, at: int, found: dict[str, JSON]) -> int:
        """The keys of a section that ends too early."""
        for key in self.keys:
            one = unpacker((key,))
            if at + key.octets > len(data):
                break
            at = one.into(data, at, found)
        return len(data) + 1


class TemplatePart(NamedTuple):
    """Keys, and those that follow as many times as the key ``counted`` says; only the first of them are kept."""

    keys: KeyReader
    counted: str | None = None
    repeated: KeyReader | None = None


@cache
def unpacker(keys: tuple[Key, ...]) -> KeyReader:
    special = tuple((k.name, k.octets, k.signed, k.missing) for k in keys if k.signed or k.missing)
    form = struct.Struct(">" + "".join(CODES[key.octets] for key in keys))
    return KeyReader(keys, tuple(key.name for key in keys), form, special)


@cache
def parts_of(template: int) -> tuple[TemplatePart, ...] | None:
    """The parts of a template of section 4; None for one that is not known."""
    text = TEMPLATES.get(template)
    if text is None:
        return None
    found: list[TemplatePart] = []
    keys: list[Key] = []
    for word in text.split():
        keys += keys_of(BLOCKS[word])
        if word in REPEATED:
            count, again = REPEATED[word]
            found.append(TemplatePart(unpacker(tuple(keys)), count, unpacker(keys_of(BLOCKS[again]))))
            keys = []
    return (*found, TemplatePart(unpacker(tuple(keys)))) if keys else tuple(found)


@cache
def names_in(template: int) -> frozenset[str]:
    """Names of all keys that a template may have."""
    parts = parts_of(template) or ()
    return frozenset(n for p in parts for n in (*p.keys.names, *(p.repeated.names if p.repeated else ())))


def read_parts(section: bytes, at: int, parts: tuple[TemplatePart, ...], found: dict[str, JSON]) -> None:
    """The keys of a section from a place on."""
    for keys, count, repeated in parts:
        at = keys.into(section, at, found)
        times = found.get(count) if count else None
        if isinstance(times, int) and times and repeated is not None:
            end = repeated.into(section, at, found)
            at = end if end > len(section) else at + times * (end - at)
