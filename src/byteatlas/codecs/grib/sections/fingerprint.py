"""What tells one grid from another: a few hexadecimal digits made of a field's grid section."""

from __future__ import annotations

from hashlib import blake2b

from byteatlas.codecs.grib.sections.values import GribField

DIGITS = 16


def fingerprint(edition: int, field: GribField) -> str:
    """Equal for fields whose grid sections say the same; vertical coordinates in them (edition 1) do not count.

    Where edition 1 has no grid section, its number of a known grid (octet 7 of section 1) is the grid.
    """
    return fingerprint_of(edition, field.grid, field.identification)


def fingerprint_of(edition: int, grid: bytes, identification: bytes) -> str:
    """The same from the grid section and section 1."""
    if edition == 1:
        grid = _horizontal(grid) if grid else identification[6:7]
    return blake2b(bytes((edition,)) + grid, digest_size=DIGITS // 2).hexdigest()


def _horizontal(grid: bytes) -> bytes:
    count, place = grid[3], grid[4]
    if not count or place == 0xFF or place - 1 + 4 * count > len(grid):
        return grid[5:]
    return grid[5 : place - 1] + grid[place - 1 + 4 * count :]
