"""One variable in many files: the common data type, packing, fill value and encodings, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.compare.classify import Class, decode_equal, same_scalar, show_json
from byteatlas.combining.compare.packing import (
    PACKED_RANGE_ATTRIBUTES,
    PACKING_ATTRIBUTES,
    Packing,
    as_stored,
    packing_of,
    scalars,
    unpacked,
)
from byteatlas.combining.model import CombineOptions, Finding
from byteatlas.meta.dtypes import from_numpy, to_v3
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, CodecSpec, DataType, Encoding
from byteatlas.types import JSON

NUMERIC = "iuf"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What all files' values become.

    Attributes:
        unpack: the packing of each class that is applied when reading; None = values stay as stored.
        nodata: the value that absent data read as; None = there is no such value.
    """

    data_type: DataType
    unpack: tuple[Packing, ...] | None
    nodata: object | None


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One variable's common description.

    Attributes:
        maps: for each class: result encoding of each of its own encodings.
        constants: for each class: the encoding for its missing chunks, where these do not read as ``fill_value``.
        absent: the encoding for data that no file has; None = they are missing chunks.
    """

    data_type: DataType
    fill_value: object
    attributes: Mapping[str, JSON]
    encodings: tuple[Encoding, ...]
    maps: tuple[tuple[int, ...], ...]
    constants: tuple[int | None, ...]
    absent: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A variable to reconcile.

    Attributes:
        absent: whether some files (or tiles) do not have it.
        holes: for each class, whether any of its manifests has missing chunks.
        skip: attributes that are reconciled elsewhere.
    """

    path: str
    classes: Sequence[Class]
    names: Sequence[str]
    absent: bool
    holes: Sequence[bool]
    options: CombineOptions
    skip: frozenset[str] = frozenset()


def reconcile(q: Question) -> tuple[Merged | None, list[Finding]]:
    """The common description of a variable, with findings; None when a finding is a conflict."""
    findings = shape_conflicts(q)
    if findings:
        return None, findings
    meaning, _ = attrs.check_meaning(q.path, q.classes, q.names, q.skip)
    findings += meaning
    target, found = choose(q)
    findings += found
    if target is None or any(f.level == "conflict" for f in findings):
        return None, findings
    kept, differing = attrs.merged([d for c in q.classes for d in c.attributes], q.options.attributes)
    findings += attrs.note_dropped(q.path, differing, q.options.attributes)
    if target.unpack is not None:
        kept = {k: v for k, v in kept.items() if k not in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)}
    if target.data_type.numpy.hasobject and any(q.holes) and not same_fills(q, target):
        detail = "missing chunks read as different fill values, which text of variable length cannot express"
        return None, [*findings, Finding("conflict", "fill", q.path, (), detail)]
    merged = encode(q, target, kept)
    findings += codec_findings(q, merged)
    if len(merged.encodings) > MOST_ENCODINGS:
        findings.append(Finding("conflict", "codecs", q.path, (), f"more than {MOST_ENCODINGS} different encodings"))
        return None, findings
    return merged, findings


def same_fills(q: Question, target: Target) -> bool:
    fills = [class_fill(c.meta, target, i) for i, c in enumerate(q.classes)]
    return all(same_scalar(f, fills[0]) for f in fills)


def files_of(q: Question, classes: Sequence[int]) -> tuple[str, ...]:
    return tuple(q.names[i] for c in classes for i in q.classes[c].members)


def shape_conflicts(q: Question) -> list[Finding]:
    """Dimensions and lengths (other than along the concatenated ones) must be the same."""
    for code, facts in (
        ("dims", [c.meta.dimension_names or (None,) * c.meta.ndim for c in q.classes]),
        ("shape", [c.meta.ndim for c in q.classes]),
    ):
        odd = [i for i, f in enumerate(facts) if f != facts[0]]
        if odd:
            detail = f"dimensions differ: {facts[0]} / {facts[odd[0]]}"
            return [Finding("conflict", code, q.path, files_of(q, odd), detail)]
    return []


def choose(q: Question) -> tuple[Target | None, list[Finding]]:
    """The common data type, and whether packing is applied."""
    metas = [c.meta for c in q.classes]
    kinds = {m.data_type.numpy.kind for m in metas}
    packings = [packing_of(m) for m in metas]
    same_type = all(m.data_type == metas[0].data_type for m in metas)
    numeric = kinds <= set(NUMERIC)
    if not numeric:
        return choose_other(q, same_type)
    odd = [i for i, p in enumerate(packings) if p != packings[0]]
    findings: list[Finding] = []
    if not same_type:
        types = " / ".join(dict.fromkeys(m.data_type.name for m in metas))
        others = [i for i, m in enumerate(metas) if m.data_type != metas[0].data_type]
        findings.append(Finding("reconciled", "dtype", q.path, files_of(q, others), f"data types differ: {types}"))
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
    return Target(data_type, None, nodata), findings


def choose_other(q: Question, same_type: bool) -> tuple[Target | None, list[Finding]]:
    """Text, booleans, structures, complex numbers, dates: equal types only, but for the length of text."""
    metas = [c.meta for c in q.classes]
    if q.absent:
        detail = f"not in all files, and {metas[0].data_type.name} has no value that means no data"
        return None, [Finding("conflict", "missing", q.path, (), detail)]
    if same_type:
        return Target(metas[0].data_type, None, None), []
    types = " / ".join(dict.fromkeys(m.data_type.name + str(dict(m.data_type.configuration) or "") for m in metas))
    odd = files_of(q, [i for i, m in enumerate(metas) if m.data_type != metas[0].data_type])
    kinds = {m.data_type.numpy.kind for m in metas}
    if len(kinds) == 1 and kinds <= set("SUc") and all(m.data_type.numpy.fields is None for m in metas):
        common = max((m.data_type.numpy for m in metas), key=lambda d: d.itemsize)
        found = Finding("reconciled", "dtype", q.path, odd, f"data types differ: {types}")
        return Target(from_numpy(common), None, None), [found]
    return None, [Finding("conflict", "dtype", q.path, odd, f"data types differ: {types}")]


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
) -> tuple[Target | None, list[Finding]]:
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
    return Target(from_numpy(wide), tuple(packings), wide.type("nan")), findings


def exact_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "f":
        return np.dtype(np.float64 if dtype.itemsize > 4 else np.float32)
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def show_packing(p: Packing) -> str:
    return f"scale {p.scale:g} offset {p.offset:g} no-data {list(p.mask)}"


def encode(q: Question, target: Target, kept: Mapping[str, JSON]) -> Merged:
    """Encodings of all classes without repetitions, and the fill value."""
    numbered = Numbered()
    maps = [tuple(numbered.place(e) for e in class_encodings(c.meta, target, i)) for i, c in enumerate(q.classes)]
    fills = [class_fill(c.meta, target, i) for i, c in enumerate(q.classes)]
    fill, is_zero = result_fill(q, target, fills)
    constants: list[int | None] = []
    for value, holes in zip(fills, q.holes, strict=True):
        differs = holes and not same_scalar(value, fill)
        constants.append(numbered.place(constant(target.data_type, value)) if differs else None)
    absent = None
    if q.absent and not same_scalar(target.nodata, fill):
        absent = numbered.place(constant(target.data_type, target.nodata))
    value = None if is_zero else fill
    return Merged(target.data_type, value, kept, tuple(numbered.encodings), tuple(maps), tuple(constants), absent)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Encodings without repetitions. ``alike``: their numbers by what is quickly told apart.

    Where every file is packed by itself there are as many as files: each is compared with few others.
    """

    encodings: list[Encoding] = field(default_factory=list)
    alike: dict[object, list[int]] = field(default_factory=dict)

    def place(self, new: Encoding) -> int:
        """The number of an encoding that decodes alike, or of the new one."""
        near = self.alike.setdefault((new.chunk_shape, tuple(c.name for c in new.codecs), repr(new.cast)), [])
        for i in near:
            if decode_equal(self.encodings[i], new):
                return i
        near.append(len(self.encodings))
        self.encodings.append(new)
        return near[-1]


def class_encodings(meta: ArrayMeta, target: Target, index: int) -> list[Encoding]:
    result = []
    for e in meta.encodings:
        if target.unpack is not None:
            p = target.unpack[index]
            spec = CodecSpec("byteatlas.unpack", unpack_configuration(p, meta.data_type))
            if p == Packing() and not e.cast:
                plain = meta.data_type == target.data_type and e.data_type is None
                result.append(replace(e, data_type=None if plain else e.data_type or meta.data_type))
            else:
                inner = e.cast
                if e.data_type is not None and not inner:  # a plain cast, which comes before unpacking
                    inner = (CodecSpec("byteatlas.unpack", unpack_configuration(Packing(), e.data_type)),)
                result.append(replace(e, data_type=e.data_type or meta.data_type, cast=(spec, *inner)))
        elif meta.data_type != target.data_type:
            spec = CodecSpec("byteatlas.unpack", unpack_configuration(Packing(), meta.data_type))
            cast = (spec, *e.cast) if e.cast else ()
            result.append(replace(e, data_type=e.data_type or meta.data_type, cast=cast))
        else:
            result.append(e)
    return result


def unpack_configuration(p: Packing, packed: DataType) -> dict[str, JSON]:
    """The configuration of the codec ``byteatlas.unpack``."""
    conf: dict[str, JSON] = {"data_type": to_v3(packed), "scale_factor": p.scale, "add_offset": p.offset}
    if p.mask:
        conf["mask"] = [v for v in p.mask if not isinstance(v, str)]
    if p.unsigned is not None:
        conf["unsigned"] = p.unsigned
    return conf


def class_fill(meta: ArrayMeta, target: Target, index: int) -> object:
    """What a missing chunk of this class reads as, in the target's type."""
    value: Any = meta.fill_value
    dtype = meta.data_type.numpy
    if value is None:
        value = (
            ""
            if dtype.hasobject and meta.data_type.name == "string"
            else b""
            if dtype.hasobject
            else np.zeros((), dtype)[()]
        )
    if target.unpack is not None:
        return unpacked(np.array([value], dtype), target.unpack[index], target.data_type.numpy)[0]
    if meta.data_type != target.data_type:
        return np.array([value], dtype).astype(target.data_type.numpy)[0]
    return value


def result_fill(q: Question, target: Target, fills: Sequence[object]) -> tuple[object, bool]:
    """The fill value of the result, and whether it is version 2's ``null``."""
    same = all(same_scalar(f, fills[0]) for f in fills)
    nulls = all(c.meta.fill_value is None for c in q.classes)
    if target.unpack is not None:
        return target.nodata, False
    if q.absent and not any(q.holes) and target.nodata is not None:
        return target.nodata, False
    if same:
        return fills[0], nulls and target.data_type == q.classes[0].meta.data_type
    for fill, holes in zip(fills, q.holes, strict=True):
        if holes:
            return fill, False
    return fills[0], False


def constant(data_type: DataType, value: object) -> Encoding:
    """The encoding of a chunk that is one value throughout."""
    array = np.empty((), data_type.numpy)
    array[...] = value
    return Encoding(
        (CodecSpec("byteatlas.constant", {"value": array.astype(array.dtype.newbyteorder("<")).tobytes().hex()}),)
    )


def codec_findings(q: Question, merged: Merged) -> list[Finding]:
    """Say that files are stored differently."""
    first = merged.maps[0]
    odd = [i for i, m in enumerate(merged.maps) if m != first]
    found = []
    if odd:
        a, b = (" ".join(short(c) for c in q.classes[i].meta.codecs) for i in (0, odd[0]))
        if a != b:
            found.append(Finding("reconciled", "codecs", q.path, files_of(q, odd), f"stored differently: {a} / {b}"))
    if any(c is not None for c in merged.constants):
        files = files_of(q, [i for i, c in enumerate(merged.constants) if c is not None])
        found.append(Finding("reconciled", "fill", q.path, files, "missing chunks read as different fill values"))
    return found


def short(codec: CodecSpec) -> str:
    conf = show_json(dict(codec.configuration), 40) if codec.configuration else ""
    return codec.name.removeprefix("numcodecs.") + conf
