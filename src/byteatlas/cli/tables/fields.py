"""The fields of GRIB files as a table: a row for each variable, under the group that it is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array, Group
from byteatlas.describe import ArrayFacts, GroupFacts
from byteatlas.errors import ByteatlasError

KIND = "GRIB_typeOfLevel"
HEADS = ("variable", "levels", "runs", "valid", "steps", "members", "grid", "packing", "fields")
WIDEST = (20, 18, 34, 34, 16, 12, 20, 22, 9)
"""Characters of a column; longer texts are cut. Most columns are narrower."""
RIGHT = len(HEADS) - 1


def field_table(facts: GroupFacts, root: Array | Group) -> list[str]:
    """Lines: for each group its path and a row for each variable.

    Args:
        root: the group that ``facts`` are of, opened; coordinates are read from it.
    """
    groups: dict[str, list[tuple[str, ...]]] = {}
    if not isinstance(root, Group):
        return []
    for path, node in facts.members:
        if isinstance(node, ArrayFacts) and KIND in node.attributes:
            group, _, name = path.rpartition("/")
            groups.setdefault(group, []).append(_row(name, node, root, group))
    rows = [row for some in groups.values() for row in some]
    widths = [max(len(row[i]) for row in (HEADS, *rows)) for i in range(len(HEADS))]
    shown = [i for i in range(len(HEADS)) if any(row[i] for row in rows)]
    lines = [_line(HEADS, widths, shown)]
    for group, some in groups.items():
        lines.append(f"{group or '/'}:")
        lines += [_line(row, widths, shown) for row in some]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int], shown: Iterable[int]) -> str:
    texts = [cells[i].rjust(widths[i]) if i == RIGHT else cells[i].ljust(widths[i]) for i in shown]
    return ("  " + "  ".join(texts)).rstrip()


def _row(name: str, array: ArrayFacts, root: Group, group: str) -> tuple[str, ...]:
    here = _Coordinates(root, group, array)
    kind = str(array.attributes[KIND])
    words = (
        name,
        here.levels(kind),
        here.moments("time"),
        here.moments("valid_time") if here.diagonal else "",
        here.steps(),
        here.members(),
        _grid(array),
        str(array.attributes.get("GRIB_packingType", "")).replace("grid_", "").replace("spatial_differencing", "diff"),
        f"{array.stored.present:,}" if array.stored is not None else "",
    )
    return tuple(
        text if len(text) <= most else text[: most - 2] + ".." for text, most in zip(words, WIDEST, strict=True)
    )


def _grid(array: ArrayFacts) -> str:
    kind = str(array.attributes.get("GRIB_gridType", "?"))
    rows, columns = array.attributes.get("GRIB_Nj"), array.attributes.get("GRIB_Ni")
    if isinstance(rows, int) and isinstance(columns, int):
        return f"{kind} {rows}x{columns}"
    lead = 2 if array.dims is not None and array.dims[-1:] != ("values",) else 1
    return f"{kind} {'x'.join(map(str, array.shape[-lead:]))}"


class _Coordinates:
    """The coordinates of one variable, by what they are: ``step`` for ``step_2`` as well."""

    def __init__(self, root: Group, group: str, array: ArrayFacts) -> None:
        named = str(array.attributes.get("coordinates", "")).split()
        dims = [dim for dim in array.dims or () if dim]
        self._names = [*dims, *named, str(array.attributes[KIND])]
        self.diagonal = any(dim.startswith("valid_time") for dim in dims)
        self._root, self._prefix = root, f"{group}/" if group else ""

    def _of(self, kind: str) -> Array | None:
        for name in self._names:
            if name == kind or (name.startswith(f"{kind}_") and name[len(kind) + 1 :].isdigit()):
                try:
                    found = self._root[self._prefix + name]
                except ByteatlasError:
                    return None
                return found if isinstance(found, Array) else None
        return None

    def _values(self, kind: str) -> NDArray[Any]:
        found = self._of(kind)
        return np.zeros(0) if found is None else np.unique(np.asarray(found[...]))

    def levels(self, kind: str) -> str:
        return _span([f"{value:g}" for value in self._values(kind).tolist()])

    def moments(self, kind: str) -> str:
        moments = self._values(kind)
        dates = [_date(int(value)) for value in moments[moments > np.iinfo(np.int64).min].tolist()]
        return _span(dates)

    def steps(self) -> str:
        found = self._of("step")
        if found is None:
            return ""
        unit = str(found.attrs.get("units", "hours"))
        values = np.unique(np.asarray(found[...])).tolist()
        return f"{_span([str(value) for value in values])} {unit[:3] if unit == 'minutes' else unit[:1]}"

    def members(self) -> str:
        return _span([str(int(value)) for value in self._values("number").tolist()])


def _date(seconds: int) -> str:
    text = str(np.datetime64(seconds, "s")).replace("T", " ")
    return text.removesuffix(":00").removesuffix(":00")


def _span(texts: Sequence[str]) -> str:
    """One value, two, or the first, the last and how many there are."""
    if len(texts) < 3:
        return ", ".join(texts)
    return f"{texts[0]}..{texts[-1]} ({len(texts)})"
