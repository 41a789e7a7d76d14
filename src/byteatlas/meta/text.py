"""Arrays in a few words, for people."""

from __future__ import annotations

from collections.abc import Sequence

from byteatlas.meta.model import ArrayMeta


def shape_text(shape: Sequence[int], dims: Sequence[str | None] | None) -> str:
    """Lengths with the names of their dimensions.

    >>> shape_text((12, 180), ("time", None)), shape_text((), None)
    ('(time 12, 180)', '()')
    """
    names = dims or (None,) * len(shape)
    return "(" + ", ".join(f"{d} {n}" if d else f"{n}" for d, n in zip(names, shape, strict=True)) + ")"


def cut_short(lines: Sequence[str], most: int = 40) -> list[str]:
    """The first lines, and how many there are beside them.

    >>> cut_short(["a", "b", "c"], 1)
    ['a', '... and 2 more']
    """
    more = len(lines) - most
    return [*lines[:most], f"... and {more} more"] if more > 0 else list(lines)


def array_text(meta: ArrayMeta) -> str:
    """``float32 (time 12, lat 180)``."""
    kind = meta.data_type
    return f"{kind.name if kind.numpy.hasobject else kind.numpy} {shape_text(meta.shape, meta.dimension_names)}"
