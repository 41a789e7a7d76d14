"""Numbers for people."""

from __future__ import annotations


def size_text(n: int) -> str:
    """Bytes for people.

    >>> size_text(0), size_text(999), size_text(1234), size_text(5_300_000_000)
    ('0 B', '999 B', '1.2 kB', '5.3 GB')
    """
    value = float(n)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def count_text(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count_text(1, "array"), count_text(2, "array"), count_text(2000, "entry", "entries")
    ('1 array', '2 arrays', '2,000 entries')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
