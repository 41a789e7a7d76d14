"""What people get: pages, their style and script, quick-look pictures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from byteatlas.array import Array, Group, Node
from byteatlas.array.geo import levels_of
from byteatlas.describe import ArrayFacts, GroupFacts, describe
from byteatlas.errors import ByteatlasError
from byteatlas.manifest.ops.common import all_arrays
from byteatlas.meta.json_text import json_text
from byteatlas.meta.text import shape_text
from byteatlas.pages import rendering
from byteatlas.pages.bytemap import ByteMap, byte_map, colours_of
from byteatlas.pages.cards import array_cards, attribute_lines, refusal_lines, summary, tree_lines
from byteatlas.serving.bodies import Body, body_of
from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.looking import look as look_at
from byteatlas.serving.naming import public_name
from byteatlas.serving.published import Published
from byteatlas.serving.tree import FORMATS, JSON_TYPE
from byteatlas.values import dataclass

HTML = "text/html; charset=utf-8"
MOST_CARDS = 200


@dataclass(frozen=True, slots=True)
class LevelLine:
    """One resolution of a pyramid."""

    group: str
    path: str
    shape: str
    scale: str


@dataclass(frozen=True, slots=True)
class HowServed:
    """How an array is served in both versions: ``passed``, ``encoded``, or why it is not there."""

    v2: str
    v3: str


def home(published: Mapping[str, Published]) -> Body:
    """The page with all that is served."""
    lines = [(name, one.kind, summary(_facts(one)), len(one.report)) for name, one in published.items()]
    return body_of(rendering.render("home.html", entries=lines, up="").encode(), HTML)


def overview(published: Published) -> Body:
    """The page of one target."""
    return published.once("page", lambda: body_of(_overview(published).encode(), HTML))


def asset(name: str) -> Body:
    """A style sheet or script. Raises `NotFound`."""
    data, media = rendering.asset(name)
    return body_of(data, media)


def look(published: Published, query: str) -> Body:
    """A quick look as JSON."""
    return body_of(json_text(look_at(published.node, query)).encode(), JSON_TYPE)


def _facts(published: Published) -> GroupFacts:
    return published.once("facts", lambda: describe(published.node if published.virtual is None else published.virtual))


def _overview(published: Published) -> str:
    facts = _facts(published)
    sizes = {p: a.stored.bytes for p, a in facts.members if isinstance(a, ArrayFacts) and a.stored is not None}
    colours = colours_of(sizes)
    cards = sorted(
        array_cards(facts, partial(public_name, policy=published.options.naming), colours),
        key=lambda card: len(card.shape) < 2,
    )  # coordinates come last
    first = cards[0].path if cards else ""
    return rendering.render(
        "map.html",
        up="../",
        name=published.name,
        kind=published.kind,
        numbers=summary(facts),
        tree=tree_lines(facts),
        attributes=attribute_lines(facts.attributes),
        cards=cards[:MOST_CARDS],
        more=max(0, len(cards) - MOST_CARDS),
        served={card.path: _served(published, card.path) for card in cards[:MOST_CARDS]},
        bytes=_byte_map(published, colours),
        legend=sorted(colours, key=lambda path: colours[path]),
        refusals=refusal_lines(published.report),
        levels=_levels(published.node),
        first=first,
        group=first.rpartition("/")[0],
        references=published.virtual is not None and _has_references(published),
    )


def _has_references(published: Published) -> bool:
    try:
        published.references()
    except HTTPRefusal:
        return False
    return True


def _served(published: Published, path: str) -> HowServed:
    words = []
    for version in FORMATS:
        tree = published.tree(version)
        array = tree.arrays.get(path)
        if array is None:
            words.append(f"not served: {getattr(tree.refused.get(path), 'reason', 'metadata')}")
        else:
            words.append("stored bytes" if array.passed else "encoded again")
    return HowServed(*words)


def _byte_map(published: Published, colours: Mapping[str, int]) -> ByteMap | None:
    if published.virtual is None:
        return None
    naming = partial(public_name, policy=published.options.naming)
    return byte_map({path: array.manifest for path, array in all_arrays(published.virtual)}, colours, naming)


def _levels(node: Node) -> list[LevelLine]:
    """The resolutions of every pyramid in the tree."""
    if not isinstance(node, Group):
        return []
    lines = []
    for path, group in [("", node), *((p, n) for p, n in node.walk() if isinstance(n, Group))]:
        try:
            found = levels_of(group)
        except ByteatlasError:
            continue  # a pyramid whose levels are not there is none
        for level, at in found:
            below = f"{path}/{level.path}".strip("/")
            scale = " x ".join(f"{s:g}" for s in level.scale or ())
            lines.append(
                LevelLine(
                    path or "/", below, shape_text(at.shape, at.dims) if isinstance(at, Array) else "group", scale
                )
            )
    return lines
