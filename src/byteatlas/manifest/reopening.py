"""Maps that are read again in another process: what arrays and groups of maps are pickled as.

A map is known by its URL, how it may be reached, and the stamp that it had. A process reads each map once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from byteatlas.errors import NotFound, SourceChanged
from byteatlas.io.access import Access
from byteatlas.io.local import FileIdentity, LocalSource, identity
from byteatlas.io.source import Source, SourceRecord
from byteatlas.io.stamp import check_unchanged, compare, facts_of
from byteatlas.manifest.model import Manifest, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import MapReadOptions
from byteatlas.values import dataclass

ReadMap: TypeAlias = Callable[["MapRecipe"], VirtualNode]
MOST_MAPS = 16
"""Maps that a process keeps for values that came from another one."""


@dataclass(frozen=True, slots=True)
class MapRecipe:
    """All that it takes to read a map again.

    Attributes:
        file: what tells that the map is the same: the map itself, or the metadata of a Parquet map.
        facts: what was known of that file.
        read: reads the map.
    """

    url: str
    access: Access
    options: MapReadOptions
    file: str
    facts: SourceRecord
    read: ReadMap


@dataclass(frozen=True, slots=True, eq=False)
class MapPlace:
    """Where a map that is open was read from (`byteatlas.manifest.options.KnownPlace`)."""

    url: str
    access: Access
    options: MapReadOptions
    source: Source
    read: ReadMap

    @property
    def recipe(self) -> MapRecipe:
        return MapRecipe(self.url, self.access, self.options, self.source.url, facts_of(self.source), self.read)

    def reduced_manifest(self, path: str) -> tuple[Any, ...]:
        return _manifest_again, (self.recipe, path)

    def reduced_arrays(self, path: str) -> tuple[Any, ...]:
        return _arrays_again, (self.recipe, path)

    def check(self) -> None:
        check_unchanged(self.source)

    def check_name(self) -> None:
        self.check()
        if isinstance(self.source, LocalSource) and identity(self.source.url) != self.source.identity:
            raise SourceChanged(self.url, "the map", "another one", "rewritten", when="opened")


def _compare(url: str, recorded: SourceRecord, found: SourceRecord) -> None:
    try:
        compare(url, recorded, found)
    except SourceChanged as error:
        raise SourceChanged(url, error.what, error.recorded, error.found, when="opened") from None


def _again(recipe: MapRecipe) -> VirtualNode:
    return _read_again(recipe, identity(recipe.file), os.getpid())


@lru_cache(maxsize=MOST_MAPS)
def _read_again(recipe: MapRecipe, _file: FileIdentity | None, _process: int) -> VirtualNode:
    """A map by what it is and what its file is now: one that was rewritten is never taken for the one before."""
    node = recipe.read(recipe)
    place = place_of(node)
    if place is not None:
        _compare(recipe.url, recipe.facts, facts_of(place.source))
    return node


def place_of(node: VirtualNode) -> MapPlace | None:
    """Where a whole tree was read from; None when it is not a map as it was read."""
    known = node.manifest if isinstance(node, VirtualArray) else node.arrays
    place = getattr(known, "place", None)
    return place if isinstance(place, MapPlace) and getattr(known, "path", "") == "" else None


def _arrays_again(recipe: MapRecipe, path: str) -> Mapping[str, VirtualArray]:
    node = _again(recipe)
    group = node[path] if path and isinstance(node, VirtualGroup) else node
    if not isinstance(group, VirtualGroup):
        raise NotFound(f"{recipe.url}: {path!r} is no group any more")
    return group.arrays


def _manifest_again(recipe: MapRecipe, path: str) -> Manifest:
    node = _again(recipe)
    array = node[path] if path and isinstance(node, VirtualGroup) else node
    if not isinstance(array, VirtualArray):
        raise NotFound(f"{recipe.url}: {path!r} is no array any more")
    return array.manifest
