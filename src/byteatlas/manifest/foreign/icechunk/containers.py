"""Virtual chunk containers: below which prefixes sources lie, and the names that locations have below them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.local import local_path
from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions
from byteatlas.manifest.foreign.icechunk.storage import container_store, library
from byteatlas.manifest.options import MapWriteOptions

ESCAPED = (("%", "%25"), ("?", "%3F"), ("#", "%23"))
"""What icechunk's locations, whose paths are taken as they are, have escaped."""


def location_of(url: str) -> str:
    """A source's URL as icechunk wants it."""
    shown = MapWriteOptions().shown(url)
    path = local_path(shown)
    if path is None:
        return shown
    for mark, escape in ESCAPED:
        path = path.replace(mark, escape)
    return f"file://{path}"


class Containers:
    """Prefix -> icechunk's store configuration.

    Args:
        known: the prefixes that the repository has already, and what they are called there.

    Raises `BadRequest` for sources that no container could be made for.
    """

    def __init__(
        self, urls: Iterable[str], options: IcechunkOptions, access: Access, known: Mapping[str, str | None]
    ) -> None:
        self.made: dict[str, Any] = {location_of(p): store for p, store in options.containers.items()}
        self._names: dict[str, str | None] = dict(known)
        self._relative = options.relative
        left = [u for u in dict.fromkeys(map(location_of, urls)) if not u.startswith(self.prefixes)]
        self._local([u for u in left if u.startswith("file://")])
        for url in left:
            if not url.startswith(self.prefixes):
                found = container_store(url, access)
                if found is None:
                    raise BadRequest(f"no container for {url} (containers={{prefix: store}})")
                self.made[found[0]] = found[1]
        for prefix in self.made:
            self._names.setdefault(prefix, self._free_name() if options.relative else None)

    @property
    def prefixes(self) -> tuple[str, ...]:
        return (*self._names, *self.made)

    def _local(self, urls: list[str]) -> None:
        if not urls:
            return
        common = posixpath.commonpath([posixpath.dirname(u.removeprefix("file://")) for u in urls]).rstrip("/") + "/"
        if common == "/":
            raise BadRequest("the local sources share no folder; Icechunk needs one to allow access to")
        self.made[f"file://{common}"] = library().local_filesystem_store(common)

    def _free_name(self) -> str:
        taken = set(self._names.values())
        return next(n for i in range(len(taken) + 1) if (n := f"source-{i}") not in taken)

    def add_to(self, config: Any) -> None:
        """Put the new ones into a repository's configuration."""
        kind = library().VirtualChunkContainer
        for prefix, store in self.made.items():
            name = self._names[prefix]
            config.set_virtual_chunk_container(kind(prefix, store) if name is None else kind(prefix, store, name))

    def location(self, url: str) -> str:
        """What a source is called: its URL, or its place in its container."""
        found = location_of(url)
        if not self._relative:
            return found
        prefix = max((p for p in self._names if found.startswith(p)), key=len)
        name = self._names[prefix]
        return found if name is None else f"vcc://{name}/{found[len(prefix) :]}"
