"""Attributes of many files: which are kept, and which differences change what values mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.combining.compare.significant import ABSENT, CRS, MEANING, SIGNIFICANT, meaning, show_json
from byteatlas.combining.model import AttributePolicy, Finding
from byteatlas.combining.wording import by_value, listed
from byteatlas.meta.compare import all_equal_in_value, all_identical
from byteatlas.types import JSON
from byteatlas.values import replace

OPTIONAL = ("standard_name", "grid_mapping", "positive", "cell_methods")
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
) -> list[Finding]:
    """Conflicts for attributes that change the meaning of values; ``skip`` are reconciled elsewhere."""
    found: list[Finding] = []
    for name in MEANING:
        values = [meaning(name, c.meta.attributes.get(name)) for c in classes]
        if name in skip or all_equal_in_value(values[0], values):
            continue
        have = [v for c, v in zip(classes, values, strict=True) if name in c.meta.attributes]
        optional = name in OPTIONAL and all_equal_in_value(have[0], have)
        code = name if name in ("units", "calendar") else "attributes"
        facts = [shown(c.meta.attributes, name) for c in classes for _ in c.members]
        files, detail = by_value(facts, [names[i] for c in classes for i in c.members], f"{name} differs")
        if optional:
            detail += "; left out"
        found.append(Finding("note" if optional else "conflict", code, path, files, detail))
    return found


def check_crs(path: str, documents: Sequence[Mapping[str, JSON]], names: Sequence[str]) -> list[Finding]:
    """Conflicts for the attributes of a grid mapping that name different coordinate reference systems.

    One that some files do not have says nothing against those that have it.
    """
    found: list[Finding] = []
    for name in CRS:
        have = [(meaning(name, d[name]), n) for d, n in zip(documents, names, strict=True) if name in d]
        if len(have) > 1 and not all_equal_in_value(have[0][0], [v for v, _ in have]):
            facts = [show_json(v) for v, _ in have]
            files, detail = by_value(facts, [n for _, n in have], f"coordinate reference systems differ: {name}")
            found.append(Finding("conflict", "crs", path, files, detail))
    return found[:1]


def shown(attributes: Mapping[str, JSON], name: str) -> str:
    """An attribute's value for a message."""
    return show_json(attributes[name]) if name in attributes else "none"


def note_dropped(path: str | None, differing: Sequence[str], policy: AttributePolicy) -> list[Finding]:
    """Say which attributes are not the same in all files."""
    quiet = {*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES, *MEANING}
    names = tuple(n for n in differing if n not in quiet)
    return [attributes_note(path, names, policy)] if names else []


def attributes_note(path: str | None, names: tuple[str, ...], policy: AttributePolicy) -> Finding:
    """The finding for attributes that are not the same in all files."""
    done = "those of the first file are kept" if policy == "first" else "left out"
    return Finding("note", "attributes", path, (), f"attributes differ: {listed(names, 12)}: {done}", names)


def with_findings_of_parts(
    whole: Sequence[Finding], parts: Sequence[Finding], policy: AttributePolicy
) -> tuple[Finding, ...]:
    """The findings of a combination of parts, and what was found when the parts were made: each cause once.

    What concerns dimensions is found anew for the whole; what differs inside of a part the whole does not see.
    """
    result: dict[tuple[str, str, str | None, str], Finding] = {}
    for f in (*whole, *(p for p in parts if p.code not in ("gap", "coordinate"))):
        key = (f.level, f.code, f.variable, "" if f.items else f.detail)
        known = result.get(key)
        if known is None:
            result[key] = f
        elif f.items:
            names = tuple(dict.fromkeys((*known.items, *f.items)))
            result[key] = attributes_note(f.variable, names, policy)
        else:
            result[key] = replace(known, files=tuple(dict.fromkeys((*known.files, *f.files))))
    return tuple(result.values())
