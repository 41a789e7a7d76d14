"""What virtual arrays and groups look like when they are printed. Nothing is read but what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from byteatlas.errors import ByteatlasError
from byteatlas.meta.model import ArrayMeta
from byteatlas.meta.text import array_text, cut_short
from byteatlas.types import Shape

MOST = 40
"""Members shown of a group."""


class SourceLike(Protocol):
    @property
    def url(self) -> str: ...


class Places(Protocol):
    """What is shown of a manifest."""

    @property
    def grid_shape(self) -> Shape: ...
    @property
    def sources(self) -> Sequence[SourceLike]: ...


class ItemLike(Protocol):
    """What is shown of an item of a scan's report."""

    @property
    def path(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def detail(self) -> str: ...


class ArrayLike(Protocol):
    """What is shown of a virtual array."""

    @property
    def meta(self) -> ArrayMeta: ...
    @property
    def manifest(self) -> Places: ...


class GroupLike(Protocol):
    """What is shown of a virtual group."""

    @property
    def arrays(self) -> Mapping[str, ArrayLike]: ...
    @property
    def groups(self) -> Mapping[str, GroupLike]: ...
    @property
    def report(self) -> Sequence[ItemLike]: ...


def scan_report_text(items: Sequence[ItemLike]) -> str:
    """How many datasets of each status there are, and a line for each that was refused."""
    counts = Counter(item.status for item in items)
    head = ", ".join(f"{n} {status}" for status, n in counts.items()) or "no datasets"
    refused = [item for item in items if item.reason is not None]
    lines = cut_short([f"{item.path}: {item.reason}: {item.detail}".removesuffix(": ") for item in refused], MOST)
    return "\n  ".join([f"<ScanReport: {head}>", *lines])


def virtual_array_text(array: ArrayLike) -> str:
    """One line: type, dimensions, chunks, files."""
    meta, sources = array.meta, array.manifest.sources
    chunks = 1
    for n in array.manifest.grid_shape:
        chunks *= n
    where = sources[0].url if len(sources) == 1 else f"{len(sources)} files"
    return f"<VirtualArray {array_text(meta)}, grid of {chunks} chunk{'' if chunks == 1 else 's'}, {where}>"


def virtual_group_text(group: GroupLike) -> str:
    """The members of all levels, a line each."""
    arrays, groups = _count(group)
    refused = sum(item.status == "refused" for item in group.report)
    counts = [_number(arrays, "array"), _number(groups, "group"), f"{refused} refused" if refused else ""]
    lines = [f"<VirtualGroup: {', '.join(c for c in counts if c)}>"]
    shown = list(islice(_members(group, ""), MOST))
    width = max((len(path) for path, _ in shown), default=0)
    lines += [f"  {path:{width}}  {what}".rstrip() for path, what in shown]
    if arrays + groups > MOST:
        lines.append(f"  ... and {arrays + groups - MOST} more")
    return "\n".join(lines)


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}" if n or what == "array" else ""


def _count(group: GroupLike) -> tuple[int, int]:
    below = [_count(child) for child in group.groups.values()]
    return len(group.arrays) + sum(a for a, _ in below), len(group.groups) + sum(g for _, g in below)


def _members(group: GroupLike, prefix: str) -> Iterator[tuple[str, str]]:
    for name in group.arrays:
        try:
            yield prefix + name, array_text(group.arrays[name].meta)
        except ByteatlasError as error:  # metadata of maps are parsed when they are asked for
            yield prefix + name, str(error)
    for name, child in group.groups.items():
        yield f"{prefix}{name}/", ""
        yield from _members(child, f"{prefix}{name}/")
