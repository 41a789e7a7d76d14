"""What our values look like in a notebook: a part of a page that brings its style along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.array import Array, Group
from byteatlas.combining.model import Plan
from byteatlas.describe import GroupFacts, array_facts, describe
from byteatlas.errors import MissingExtra
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.masking import without_secrets
from byteatlas.meta.text import array_text
from byteatlas.pages import rendering
from byteatlas.pages.cards import array_cards, attribute_lines, refusal_lines, title_of
from byteatlas.pages.findings import plan_lines, plan_numbers, verify_lines
from byteatlas.pages.numbers import count_text
from byteatlas.verifying.report import VerifyReport

MOST_ARRAYS = 60


def as_html(value: object) -> str | None:
    """HTML for ``_repr_html_``; None, which means that the text is shown, without jinja2 and for other types.

    Chunks are looked at for a single array alone, and no value is read.
    """
    try:
        return rendering.render("cell.html", style=rendering.cell_style(), **{**NOTHING, **_parts(value)})
    except (MissingExtra, NotImplementedError):
        return None


NOTHING: Mapping[str, Any] = {
    "card": None, "headline": "", "numbers": (), "lines": (), "more": 0, "plan": None, "verified": (), "refusals": (),
    "datasets": (), "attributes": (),
}  # fmt: skip


def _parts(value: object) -> dict[str, Any]:
    match value:
        case VirtualArray():
            return _card(describe(value))
        case Array():
            return _card(GroupFacts({}, ((value.name, array_facts(value.meta, None)),)))
        case VirtualGroup() | Group():
            return _group(value)
        case Plan():
            return {"headline": "Plan of a combination", "numbers": plan_numbers(value), "plan": plan_lines(value)}
        case VerifyReport():
            found = [(f"{n:,}", status) for status, n in value.counts.items()]
            word = "nothing differs" if value.ok else "something is wrong"
            return {"headline": f"{value.target}: {word}", "numbers": found, "verified": verify_lines(value)}
        case tuple():
            return _report(value)
    raise NotImplementedError


def _card(facts: GroupFacts) -> dict[str, Any]:
    return {"card": array_cards(facts, without_secrets, {})[0]}


def _group(group: VirtualGroup | Group) -> dict[str, Any]:
    """Its arrays by their metadata."""
    nodes = list(group.walk())
    arrays = [(path, node) for path, node in nodes if isinstance(node, (VirtualArray, Array))]
    report = group.report if isinstance(group, VirtualGroup) else ()
    numbers = [(f"{len(arrays):,}", "array" if len(arrays) == 1 else "arrays")]
    below = len(nodes) - len(arrays)
    if below:
        numbers.append((f"{below:,}", "group" if below == 1 else "groups"))
    refused = refusal_lines(report)
    if refused:
        numbers.append((f"{sum(line.count for line in refused):,}", "refused"))
    return {
        "headline": type(group).__name__ + (f" /{group.path}" if isinstance(group, Group) else ""),
        "numbers": numbers,
        "lines": [(p, array_text(node.meta), title_of(node.meta.attributes)) for p, node in arrays[:MOST_ARRAYS]],
        "more": max(0, len(arrays) - MOST_ARRAYS),
        "refusals": refused,
        "attributes": attribute_lines(group.meta.attributes),
    }


def _report(items: tuple[Any, ...]) -> dict[str, Any]:
    refused = refusal_lines(items)
    counts: dict[str, int] = {}
    for item in items:
        counts[item.status] = counts.get(item.status, 0) + 1
    return {
        "headline": f"Scan report: {count_text(len(items), 'dataset')}",
        "numbers": [(f"{n:,}", status) for status, n in counts.items()],
        "refusals": refused,
        "datasets": items,
    }
