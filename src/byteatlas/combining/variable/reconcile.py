"""One variable in many files: the common data type, packing, fill value and encodings, or why there are none."""

from __future__ import annotations

from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.compare.packing import (
    PACKED_RANGE_ATTRIBUTES,
    PACKING_ATTRIBUTES,
)
from byteatlas.combining.compare.significant import show_json
from byteatlas.combining.model import Finding
from byteatlas.combining.variable.common_type import CommonType, choose
from byteatlas.combining.variable.encodings import Merged, class_fill, encode
from byteatlas.combining.variable.question import Question, files_of
from byteatlas.combining.wording import by_value, dims_text
from byteatlas.meta.compare import identical_scalars
from byteatlas.meta.model import MOST_ENCODINGS, CodecSpec


def reconcile(q: Question) -> tuple[Merged | None, list[Finding]]:
    """The common description of a variable, with findings; None when a finding is a conflict."""
    findings = shape_conflicts(q)
    if findings:
        return None, findings
    meaning = attrs.check_meaning(q.path, q.classes, q.names, q.skip)
    findings += meaning
    common, found = choose(q)
    findings += found
    if common is None or any(f.level == "conflict" for f in findings):
        return None, findings
    kept, differing = attrs.merged([d for c in q.classes for d in c.attributes], q.options.attributes)
    findings += attrs.note_dropped(q.path, differing, q.options.attributes)
    if common.unpack is not None:
        kept = {k: v for k, v in kept.items() if k not in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)}
    if common.data_type.numpy.hasobject and not identical_fills(q, common):
        detail = "missing chunks read as different fill values, which text of variable length cannot express"
        return None, [*findings, Finding("conflict", "fill", q.path, (), detail)]
    merged = encode(q, common, kept)
    findings += codec_findings(q, merged)
    if len(merged.encodings) > MOST_ENCODINGS:
        findings.append(Finding("conflict", "codecs", q.path, (), f"more than {MOST_ENCODINGS} different encodings"))
        return None, findings
    return merged, findings


def identical_fills(q: Question, common: CommonType) -> bool:
    """Whether all that is missing, in files or because a file does not have the variable, reads as one value."""
    fills = [class_fill(c.meta, common, i) for i, c in enumerate(q.classes) if q.holes[i]]
    fills += [common.nodata] if q.absent else []
    return all(identical_scalars(f, fills[0]) for f in fills)


def shape_conflicts(q: Question) -> list[Finding]:
    """Dimensions and lengths (other than along the concatenated ones) must be the same."""
    names = [c.meta.dimension_names or (None,) * c.meta.ndim for c in q.classes]
    if len(set(names)) == 1:
        return []
    texts = [dims_text(n) for n in names]
    code = "dims" if len(set(texts)) > 1 else "shape"
    facts = [text for text, c in zip(texts, q.classes, strict=True) for _ in c.members]
    return [Finding("conflict", code, q.path, *by_value(facts, files_of(q, range(len(texts))), "dimensions differ"))]


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
