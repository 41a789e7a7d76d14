"""Codecs by name: a mapping that can be passed in. Entry points (group ``byteatlas.codecs``) fill the default one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from byteatlas.codecs.core.contract import Codec, Make
from byteatlas.codecs.core.table import BUILTIN, FAMILIES, REFUSED
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta.model import CodecSpec

GROUP = "byteatlas.codecs"


@dataclass(frozen=True)
class Registry(Mapping[str, Make]):
    """Names to makers. Built-in ones are ``module:attribute`` strings that are imported when first asked for."""

    entries: Mapping[str, str | Make]

    def __getitem__(self, name: str) -> Make:
        found = self.entries[name]
        return _load(found) if isinstance(found, str) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def with_codec(self, name: str, make: Make) -> Registry:
        """The same registry and one more (or another) codec."""
        return Registry({**self.entries, name: make})


@cache
def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


@cache
def default_registry() -> Registry:
    """The built-in codecs and those of installed packages. Two packages with one name: `InvalidMetadata`."""
    entries: dict[str, str | Make] = {name: row.target for name, row in BUILTIN.items()}
    owners: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        owner = point.dist.name if point.dist is not None else "?"
        if point.name in entries:
            raise InvalidMetadata(
                "", f"codec {point.name!r} is provided twice: by {owners.get(point.name, 'byteatlas')} and {owner}"
            )
        entries[point.name], owners[point.name] = point.value, owner
    return Registry(entries)


def make_codec(spec: CodecSpec, registry: Mapping[str, Make]) -> Codec | None:
    """The codec of a chain's entry; None for an unknown one that need not be understood.

    Raises `Unsupported` (reason ``codec``) for unknown and refused names.
    """
    name = spec.name
    if name in registry:
        return registry[name](spec.configuration)
    if name in REFUSED:
        raise Unsupported("codec", f"codec {name!r} is refused: {REFUSED[name]}")
    for prefix, row in FAMILIES.items():
        if name.startswith(prefix):
            made: Codec = _load(row.target)(name, spec.configuration)
            return made
    if not spec.must_understand:
        return None
    raise Unsupported("codec", f"unknown codec {name!r}")
