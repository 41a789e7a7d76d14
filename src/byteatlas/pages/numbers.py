"""Numbers for people."""

from __future__ import annotations


def size_text(n: int) -> str:
    """Bytes for people.

    >>> size_text(0), size_text(999), size_text(1234), size_text(5_300_000_000)
    ('0 B', '999 B', '1.2 kB', '5.3 GB')
    """
    if n < 1000:
        return f"{n} B"
    value, units = n / 1000, ["kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.1f} {units[0]}"


def count_text(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count_text(1, "array"), count_text(2, "array"), count_text(2000, "entry", "entries")
    ('1 array', '2 arrays', '2,000 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
