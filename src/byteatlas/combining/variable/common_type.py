"""The type and packing that the values of all files are brought to, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byteatlas.combining.compare.packing import (
    Packing,
    as_stored,
    packing_of,
    scalars,
)
from byteatlas.combining.model import Finding
from byteatlas.combining.variable.question import Question, files_of
from byteatlas.combining.wording import by_value
from byteatlas.meta.compare import identical_types
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, DataType
from byteatlas.values import dataclass, replace

NUMERIC = "iufb"
TEXT_ABSENT: Mapping[str, object] = {"string": "", "bytes": b""}
"""What absent text of variable length reads as."""


@dataclass(frozen=True, slots=True, eq=False)
class CommonType:
    """What all files' values become.

    Attributes:
        unpack: the packing of each class that is applied when reading; None = values stay as stored.
        nodata: the value that absent data read as; None = there is no such value.
    """

    data_type: DataType
    unpack: tuple[Packing, ...] | None
    nodata: object | None


def choose(q: Question) -> tuple[CommonType | None, list[Finding]]:
    """The common data type, and whether packing is applied."""
    metas = [c.meta for c in q.classes]
    kinds = {m.data_type.numpy.kind for m in metas}
    packings = [packing_of(m) for m in metas]
    same_type = all(identical_types(m.data_type, metas[0].data_type) for m in metas)
    # Truth values are numbers only beside numbers, or where some are absent.
    numeric = kinds <= set(NUMERIC) and (kinds != {"b"} or q.absent)
    if not numeric:
        return choose_other(q, same_type)
    odd = [i for i, p in enumerate(packings) if p != packings[0]]
    findings: list[Finding] = []
    if not same_type:
        facts = [m.data_type.name for m, c in zip(metas, q.classes, strict=True) for _ in c.members]
        named = by_value(facts, files_of(q, range(len(metas))), "data types differ")
        findings.append(Finding("reconciled", "dtype", q.path, *named))
    if odd:
        a, b = packings[0], packings[odd[0]]
        detail = f"packing differs: {show_packing(a)} / {show_packing(b)}; unpacked when read"
        findings.append(Finding("reconciled", "packing", q.path, files_of(q, odd), detail))
        return unpack_all(q, packings, findings)
    common = widest([m.data_type.numpy for m in metas])
    if common is None or (not same_type and packings[0].unsigned is not None):
        if packings[0].scaled:
            return unpack_all(q, packings, findings)
        return None, [
            *(replace(f, level="conflict", detail=f.detail + "; no common type holds all values") for f in findings)
        ]
    data_type = metas[0].data_type if same_type else from_numpy(common)
    nodata = nodata_value(metas[0], packings[0], common)
    if nodata is None and q.absent:
        return unpack_all(q, packings, findings)
    return CommonType(data_type, None, nodata), findings


def choose_other(q: Question, same_type: bool) -> tuple[CommonType | None, list[Finding]]:
    """Text, booleans, structures, complex numbers, dates: equal types only, but for the length of text."""
    metas = [c.meta for c in q.classes]
    nothing = absent_value(metas[0].data_type)
    noted: list[Finding] = []
    if q.absent and nothing is None:
        detail = f"not in all files, and {metas[0].data_type.name} has no value that means no data"
        return None, [Finding("conflict", "missing", q.path, (), detail)]
    if q.absent and metas[0].data_type.numpy.kind in "SUO":
        noted.append(Finding("reconciled", "missing", q.path, (), "absent text reads as empty text"))
    if same_type:
        return CommonType(metas[0].data_type, None, nothing), noted
    facts = [type_text(c.meta.data_type) for c in q.classes for _ in c.members]
    odd, detail = by_value(facts, files_of(q, range(len(metas))), "data types differ")
    kinds = {m.data_type.numpy.kind for m in metas}
    if len(kinds) == 1 and kinds <= set("SUc") and all(m.data_type.numpy.fields is None for m in metas):
        common = max((m.data_type.numpy for m in metas), key=lambda d: d.itemsize)
        found = Finding("reconciled", "dtype", q.path, odd, detail)
        return CommonType(from_numpy(common), None, nothing), [found, *noted]
    return None, [Finding("conflict", "dtype", q.path, odd, detail)]


def absent_value(data_type: DataType) -> object | None:
    """What absent data that are no plain numbers read as: empty text, NaN, no time; None = there is no such value."""
    dtype = data_type.numpy
    nothing: object = None
    match dtype.kind:
        case "O":
            nothing = TEXT_ABSENT.get(data_type.name)
        case "S" | "U":
            nothing = dtype.type()
        case "m" | "M":
            nothing = dtype.type("NaT", np.datetime_data(dtype))
        case "c":
            nothing = dtype.type(complex(float("nan"), float("nan")))
    return nothing


def widest(types: Sequence[np.dtype[Any]]) -> np.dtype[Any] | None:
    """The smallest type that holds all values of all types exactly; None when there is none."""
    common = np.result_type(*types)
    for t in types:
        if common.kind == "f" and t.kind in "iu" and 8 * t.itemsize > np.finfo(common).nmant + 1:
            return None
        if not np.can_cast(t, common, "safe"):
            return None
    return common


def nodata_value(meta: ArrayMeta, packing: Packing, dtype: np.dtype[Any]) -> object | None:
    """What absent data read as: the file's own "no data" value, else NaN, else nothing."""
    named = [v for v in scalars(meta.attributes.get("_FillValue")) if v in packing.mask]
    for value in (*named, *packing.mask):
        stored = None if isinstance(value, str) else as_stored(value, dtype)
        if stored is not None:
            result: object = stored
            return result
    return dtype.type("nan") if dtype.kind == "f" else None


def unpack_all(
    q: Question, packings: Sequence[Packing], findings: list[Finding]
) -> tuple[CommonType | None, list[Finding]]:
    """Floating point numbers for all: float64 when anything is scaled, else the smallest type that is exact."""
    types = [c.meta.data_type.numpy for c in q.classes]
    if any(p.scaled for p in packings):
        wide = np.dtype(np.float64)
    else:
        common = widest([exact_float(t) for t in types])
        too_wide = [i for i, t in enumerate(types) if t.kind in "iu" and t.itemsize == 8]
        if common is None or too_wide:
            detail = "64-bit integers with different values for no data have no common exact type"
            return None, [*findings, Finding("conflict", "packing", q.path, files_of(q, too_wide), detail)]
        wide = common
    if q.absent:
        findings.append(Finding("reconciled", "missing", q.path, (), "absent data read as NaN"))
    return CommonType(from_numpy(wide), tuple(packings), wide.type("nan")), findings


def exact_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "f":
        return np.dtype(np.float64 if dtype.itemsize > 4 else np.float32)
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def show_packing(p: Packing) -> str:
    nothing = " or ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in p.mask)
    return f"scale {p.scale:g} offset {p.offset:g}" + (f" no-data {nothing}" if nothing else "")


def type_text(data_type: DataType) -> str:
    """A data type for a message: its name, and the length of text."""
    dtype = data_type.numpy
    if dtype.kind in "SU" and dtype.fields is None:
        return f"text of {dtype.itemsize // (4 if dtype.kind == 'U' else 1)} characters"
    fields = dtype.names
    return f"{data_type.name} ({', '.join(fields)})" if fields else data_type.name
