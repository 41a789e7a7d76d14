"""Attributes of many files: which are kept, and which differences change what values mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.combining.compare.significant import ABSENT, MEANING, SIGNIFICANT, show_json
from byteatlas.combining.model import AttributePolicy, Finding
from byteatlas.meta.compare import all_equal_in_value, all_identical, equal_in_value
from byteatlas.types import JSON

OPTIONAL = ("standard_name", "grid_mapping", "positive")
"""Of those, the ones that a file may lack without its values meaning something else."""


def merged(documents: Sequence[Mapping[str, JSON]], policy: AttributePolicy) -> tuple[dict[str, JSON], list[str]]:
    """The attributes to keep and the names of those that differ.

    Those that say what numbers mean count as the same when only their numbers are spelled differently.
    """
    first, n = documents[0], len(documents)
    common: dict[str, JSON] = {}
    everywhere = True
    for k, v in first.items():
        values = [d.get(k, ABSENT) for d in documents]
        if all_equal_in_value(v, values) if k in SIGNIFICANT else all_identical(v, values):
            common[k] = v
        everywhere = everywhere and ABSENT not in values
    differing = [k for k in first if k not in common]
    if not everywhere or list(map(len, documents)).count(len(first)) != n:
        differing += dict.fromkeys(k for d in documents for k in d if k not in first)
    return dict(first) if policy == "first" else common, differing


def check_meaning(
    path: str, classes: Sequence[MetadataClass], names: Sequence[str], skip: frozenset[str]
) -> tuple[list[Finding], list[str]]:
    """Conflicts for attributes that change the meaning of values; ``skip`` are reconciled elsewhere."""
    found: list[Finding] = []
    first = classes[0].meta.attributes
    for name in MEANING:
        if name in skip or all(equal_in_value(c.meta.attributes.get(name), first.get(name)) for c in classes):
            continue
        have = [c.meta.attributes[name] for c in classes if name in c.meta.attributes]
        odd = [c for c in classes if not equal_in_value(c.meta.attributes.get(name), first.get(name))]
        values = dict.fromkeys(show_json(c.meta.attributes.get(name)) for c in classes)
        kept = name in OPTIONAL and all_equal_in_value(have[0], have)
        level, tail = ("note", "left out where not in all files") if kept else ("conflict", "")
        code = name if name in ("units", "calendar") else "attributes"
        detail = f"{name} differs: {' / '.join(list(values)[:4])}" + (f" ({tail})" if tail else "")
        files = tuple(names[i] for c in odd for i in c.members)
        found.append(Finding("conflict" if level == "conflict" else "note", code, path, files, detail))
    return found, [f.code for f in found]


def note_dropped(path: str | None, differing: Sequence[str], policy: AttributePolicy) -> list[Finding]:
    """Say which attributes are not the same in all files."""
    quiet = {*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES, *MEANING}
    names = [n for n in differing if n not in quiet]
    if not names:
        return []
    done = "those of the first file are kept" if policy == "first" else "left out"
    return [Finding("note", "attributes", path, (), f"attributes differ: {', '.join(names[:12])}: {done}")]
