"""Codecs by name: a mapping that can be passed in.

Entry points (group ``byteatlas.codecs``) add to the default one. They are read when a name is not built in: that takes
longer than opening a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from byteatlas.codecs.core.contract import Codec, Make
from byteatlas.codecs.core.table import BUILTIN, FAMILIES, REFUSED
from byteatlas.errors import Unsupported
from byteatlas.importing import object_named
from byteatlas.meta.model import CodecSpec
from byteatlas.meta.place import invalid

GROUP = "byteatlas.codecs"
CodecEntries: TypeAlias = Mapping[str, str | Make]


class Registry(Mapping[str, Make]):
    """Names to makers.

    Args:
        entries: makers, or ``module:attribute`` strings that are imported when first asked for.
        others: gives further entries; called when a name is not among ``entries``, or when all names are asked for.
    """

    def __init__(self, entries: CodecEntries, others: Callable[[], CodecEntries] | None = None) -> None:
        self._entries, self._others = entries, others
        self._imported: dict[str, Make] = {}

    def __getitem__(self, name: str) -> Make:
        if name in self._imported:
            return self._imported[name]
        found = self._entries.get(name)
        if found is None:
            found = self._all()[name]
        make: Make = object_named(found) if isinstance(found, str) else found
        self._imported[name] = make
        return make

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> CodecEntries:
        return self._entries if self._others is None else {**self._others(), **self._entries}

    def __eq__(self, other: object) -> bool:
        """Compared without importing any codec."""
        return isinstance(other, Registry) and (self._entries, self._others) == (other._entries, other._others)

    def with_codec(self, name: str, make: Make) -> Registry:
        """The same registry and one more (or another) codec."""
        return Registry({**self._entries, name: make}, self._others)


@cache
def default_registry() -> Registry:
    """The built-in codecs and those of installed packages, which are looked for when a name is not built in."""
    return Registry({name: row.target for name, row in BUILTIN.items()}, announced)


@cache
def announced() -> CodecEntries:
    """The codecs of installed packages. A name that is built in, or that two packages have, is `InvalidMetadata`."""
    from importlib.metadata import entry_points

    found: dict[str, str] = {}
    owners: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        owner = point.dist.name if point.dist is not None else "?"
        if point.name in found or point.name in BUILTIN:
            raise invalid(
                f"codec {point.name!r} is provided twice: by {owners.get(point.name, 'byteatlas')} and {owner}"
            )
        found[point.name], owners[point.name] = point.value, owner
    return found


def make_codec(spec: CodecSpec, registry: Mapping[str, Make]) -> Codec | None:
    """The codec of a chain's entry; None for an unknown one that need not be understood.

    Raises `Unsupported` (reason ``codec``) for unknown and refused names.
    """
    name = spec.name
    make = registry.get(name)
    if make is not None:
        return make(spec.configuration)
    if name in REFUSED:
        raise Unsupported("codec", f"codec {name!r} is refused: {REFUSED[name]}")
    for prefix, row in FAMILIES.items():
        if name.startswith(prefix):
            made: Codec = object_named(row.target)(name, spec.configuration)
            return made
    if not spec.must_understand:
        return None
    raise Unsupported("codec", f"unknown codec {name!r}")
