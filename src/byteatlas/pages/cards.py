"""Cards: what a page says of each array, group and refusal, as text that is ready to be shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from byteatlas.describe import ArrayFacts, GroupFacts
from byteatlas.manifest.model import ReportItem
from byteatlas.pages.numbers import count_text, size_text
from byteatlas.scanning.reasons import explained
from byteatlas.types import JSON
from byteatlas.values import dataclass

MOST_TEXT = 400
"""Characters of an attribute that are shown."""
Naming = Callable[[str], str]
"""What a source's URL is called on a page."""


@dataclass(frozen=True, slots=True)
class ArrayCard:
    """One array. All but ``shape`` is text for people."""

    path: str
    group: str
    name: str
    title: str
    dtype: str
    shape: tuple[int, ...]
    axes: tuple[tuple[str, int], ...]
    facts: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    colour: int


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A line of the tree: a group or an array, and how deep it stands."""

    path: str
    name: str
    depth: int
    group: bool
    note: str


@dataclass(frozen=True, slots=True)
class RefusalLine:
    """Datasets that are not there, by reason: what it means, and what can be done."""

    reason: str
    count: int
    paths: str
    detail: str
    meaning: str
    remedy: str


def array_cards(facts: GroupFacts, naming: Naming, colours: Mapping[str, int]) -> list[ArrayCard]:
    """A card for each array, in the tree's order."""
    return [
        _card(path, node, naming, colours.get(path, -1)) for path, node in facts.members if isinstance(node, ArrayFacts)
    ]


def _card(path: str, array: ArrayFacts, naming: Naming, colour: int) -> ArrayCard:
    group, _, name = path.rpartition("/")
    dims = array.dims or (None,) * len(array.shape)
    return ArrayCard(
        path=path,
        group=group,
        name=name or "the array",
        title=title_of(array.attributes),
        dtype=array.dtype,
        shape=array.shape,
        axes=tuple((d or f"axis {i}", n) for i, (d, n) in enumerate(zip(dims, array.shape, strict=True))),
        facts=tuple(_facts(array, naming)),
        attributes=attribute_lines(array.attributes),
        colour=colour,
    )


def title_of(attributes: Mapping[str, JSON]) -> str:
    """What the CF conventions say of a variable (CF 3.1 to 3.3)."""
    name = next((n for key in ("long_name", "standard_name") if isinstance(n := attributes.get(key), str)), "")
    units = attributes.get("units")
    return f"{name} [{units}]" if isinstance(units, str) and units and units != "1" else name


def _facts(array: ArrayFacts, naming: Naming) -> Iterable[tuple[str, str]]:
    yield "size", size_text(array.nbytes)
    if array.shape:
        yield "chunks", array.chunks_text
    yield "codecs", array.codecs or "none"
    if array.encodings > 1:
        yield "encodings", f"{array.encodings} in one array"
    if array.fill != "none":
        yield "fill value", array.fill
    stored = array.stored
    if stored is None:
        return
    gaps = f", {stored.missing:,} never written" if stored.missing else ""
    inline = f", {stored.inline:,} in the map" if stored.inline else ""
    yield "stored", f"{count_text(stored.present, 'chunk')}{inline}{gaps}"
    if stored.bytes:
        ratio = array.nbytes / stored.bytes
        yield "bytes", size_text(stored.bytes) + (f" ({ratio:.1f} times smaller)" if ratio >= 1.05 else "")
    if len(stored.sources) == 1:
        place = stored.sources[0]
        yield "where", f"{naming(place.url)}, bytes {place.begin:,} to {place.end:,}"
    elif stored.sources:
        first, last = naming(stored.sources[0].url), naming(stored.sources[-1].url)
        yield "where", f"{len(stored.sources):,} files, {first} to {last}"


def attribute_lines(attributes: Mapping[str, JSON]) -> tuple[tuple[str, str], ...]:
    """Attributes as names and texts; long ones are cut."""
    return tuple((str(name), _text(value)) for name, value in attributes.items())


def _text(value: JSON) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} … ({len(text):,} characters)"


def tree_lines(facts: GroupFacts) -> list[TreeLine]:
    """The tree, a line for each node."""
    lines = []
    for path, node in facts.members:
        name, depth = path.rpartition("/")[2] or "the array", path.count("/")
        if isinstance(node, GroupFacts):
            lines.append(TreeLine(path, f"{name}/", depth, True, ""))
        else:
            lines.append(TreeLine(path, name, depth, False, f"{node.dtype} {node.shape_text}"))
    return lines


def refusal_lines(report: Iterable[ReportItem]) -> list[RefusalLine]:
    """Refusals with the most frequent reason first."""
    items = [item for item in report if item.status == "refused"]
    lines = []
    for reason, n in Counter(item.reason or "unknown" for item in items).most_common():
        mine = [item for item in items if (item.reason or "unknown") == reason]
        more = f" and {n - 5:,} more" if n > 5 else ""
        paths = ", ".join(item.path or "/" for item in mine[:5]) + more
        lines.append(RefusalLine(reason, n, paths, mine[0].detail, *explained(reason)))
    return lines


def summary(facts: GroupFacts) -> list[tuple[str, str]]:
    """The numbers at the top of a page, each with its word."""
    arrays = [node for _, node in facts.members if isinstance(node, ArrayFacts)]
    stored = [a.stored for a in arrays if a.stored is not None]
    found = [(f"{len(arrays):,}", "array" if len(arrays) == 1 else "arrays")]
    if stored:
        chunks, files = sum(s.present for s in stored), {p.url for s in stored for p in s.sources}
        found.append((f"{chunks:,}", "chunk" if chunks == 1 else "chunks"))
        found.append((f"{len(files):,}", "file" if len(files) == 1 else "files"))
        found.append((size_text(sum(s.bytes for s in stored)), "stored"))
    found.append((size_text(sum(a.nbytes for a in arrays)), "of values"))
    return found
