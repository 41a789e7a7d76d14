"""Whole pages that need nothing else: a tree, a plan, a verification, a scan report, each as one HTML text."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from byteatlas.array import Node
from byteatlas.combining.model import Plan
from byteatlas.describe import ArrayFacts, describe
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.common import all_arrays
from byteatlas.masking import without_secrets
from byteatlas.pages import rendering
from byteatlas.pages.bytemap import byte_map, colours_of
from byteatlas.pages.cards import ArrayCard, array_cards, attribute_lines, refusal_lines, summary, tree_lines
from byteatlas.pages.costs import CostLine, cost_lines
from byteatlas.pages.findings import plan_lines, plan_numbers, verify_lines
from byteatlas.pages.looks import quick_look
from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas.verifying.report import VerifyReport

MOST_CARDS = 100
MOST_LINES = 500
"""Of the tree."""
MOST_LOOKS = 16
LOOK_BYTES = 24 << 20
"""Bytes of values that are decoded for a picture."""
SECONDS = 2.0
"""After these no more pictures are begun."""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What is on a page.

    Attributes:
        title: its heading.
        source: what is opened to read it: a path or URL; empty where there is none.
        kind: a word for it: map, archive, store, plan.
        looks: with pictures, for which values are read.
    """

    title: str
    source: str = ""
    kind: str = "map"
    looks: bool = True


def tree_page(node: VirtualNode | Node, opened: Node, options: PageOptions, plan: Plan | None = None) -> str:
    """The page of a map, an archive or a store.

    Args:
        node: where its bytes lie, or the same as ``opened`` where that is a store.
        opened: the same tree, to be read.
        plan: of the combination that it came from.

    Raises `MissingExtra`; pictures that cannot be had say why.
    """
    facts = describe(node)
    arrays = {p: a for p, a in facts.members if isinstance(a, ArrayFacts)}
    stored = {path: array.stored for path, array in arrays.items() if array.stored is not None}
    colours = colours_of({path: array.bytes for path, array in stored.items()})
    cards = sorted(array_cards(facts, without_secrets, colours), key=lambda card: len(card.shape) < 2)
    shown, lines = cards[:MOST_CARDS], tree_lines(facts)
    virtual = dict(all_arrays(node)) if isinstance(node, (VirtualArray, VirtualGroup)) else {}
    manifests = {path: array.manifest for path, array in virtual.items()}
    report = node.report if isinstance(node, VirtualGroup) else ()
    return _page(
        options,
        numbers=summary(facts),
        tree=lines[:MOST_LINES],
        more_lines=max(0, len(lines) - MOST_LINES),
        attributes=attribute_lines(facts.attributes),
        cards=shown,
        more=len(cards) - len(shown),
        looks=_looks(opened, shown) if options.looks else {},
        costs=_costs(virtual, shown),
        bytes=byte_map(manifests, colours, without_secrets, stored) if virtual else None,
        legend=sorted(colours, key=lambda path: colours[path]),
        refusals=refusal_lines(report),
        plan=None if plan is None else plan_lines(plan),
        first=cards[0].path if cards else "",
    )


def plan_page(plan: Plan, options: PageOptions) -> str:
    """The page of a plan of combining. Raises `MissingExtra`."""
    return _page(options, numbers=plan_numbers(plan), plan=plan_lines(plan))


def verify_page(report: VerifyReport, options: PageOptions) -> str:
    """The page of a verification. Raises `MissingExtra`."""
    numbers = [(f"{n:,}", status) for status, n in report.counts.items()]
    return _page(options, numbers=numbers, verified=verify_lines(report), ok=report.ok)


def scan_page(items: Sequence[ReportItem], options: PageOptions) -> str:
    """The page of what a scan found. Raises `MissingExtra`."""
    counts: dict[str, int] = {}
    for item in items:
        counts[item.status] = counts.get(item.status, 0) + 1
    numbers = [(f"{n:,}", status) for status, n in counts.items()]
    return _page(options, numbers=numbers, refusals=refusal_lines(items), datasets=items)


NOTHING: Mapping[str, Any] = {
    "tree": (), "more_lines": 0, "attributes": (), "cards": (), "more": 0, "looks": {}, "costs": {}, "bytes": None,
    "legend": (), "refusals": (), "plan": None, "first": "", "verified": (), "ok": True, "datasets": (),
}  # fmt: skip
"""The parts that a page need not have."""


def _page(options: PageOptions, **parts: Any) -> str:
    values = {**NOTHING, **parts, "title": options.title, "source": options.source, "kind": options.kind}
    values["shell"] = quote(options.source)
    return rendering.render("report.html", style=rendering.style(), script=rendering.script(), **values)


def _looks(opened: Node, cards: Sequence[ArrayCard]) -> dict[str, Mapping[str, JSON]]:
    """Pictures of the first arrays, for as long as that is quick; ``fault`` says why there is none."""
    found: dict[str, Mapping[str, JSON]] = {}
    begun, lost = time.monotonic(), 0
    for card in cards:
        if len(found) >= MOST_LOOKS or time.monotonic() - begun > SECONDS or lost > 1:
            break
        try:
            found[card.path] = quick_look(opened, card.path, None, LOOK_BYTES)
        except ByteatlasError as error:
            found[card.path] = {"fault": str(error)}
            lost += isinstance(error, FetchFailed)
    return found


def _costs(arrays: Mapping[str, VirtualArray], cards: Sequence[ArrayCard]) -> dict[str, list[CostLine]]:
    return {card.path: cost_lines(arrays[card.path]) for card in cards if card.path in arrays}
