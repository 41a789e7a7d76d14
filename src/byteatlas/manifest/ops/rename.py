"""Sources that moved: the same map, other URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.policy import foreign
from byteatlas.manifest.kinds.renamed import RenamedManifest
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.values import dataclass, field, replace

NETWORK_MAP = "https://"
"""Stands for any map from the network."""


@dataclass(frozen=True, slots=True)
class Rename:
    """How URLs change: prefixes first (the longest that fits), then the regular expression.

    Attributes:
        prefixes: old prefix -> new prefix.
        pattern, replacement: a regular expression, searched for in each URL, and what takes its place.
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    pattern: str | None = None
    replacement: str = ""

    def function(self) -> Callable[[str], str]:
        """URL -> URL.

        Raises:
            BadRequest: the regular expression is none.
        """
        compiled = self._compiled()

        def change(url: str) -> str:
            best = max((p for p in self.prefixes if url.startswith(p)), key=len, default=None)
            if best is not None:
                url = self.prefixes[best] + url[len(best) :]
            return url if compiled is None else compiled.sub(self.replacement, url)

        return change

    def _compiled(self) -> re.Pattern[str] | None:
        try:
            compiled = None if self.pattern is None else re.compile(self.pattern)
            if compiled is not None:
                compiled.sub(self.replacement, "")
        except (re.error, IndexError) as error:
            raise BadRequest(f"regular expression {self.pattern!r}: {error}") from error
        return compiled

    def check_used(self, urls: Iterable[str]) -> None:
        """Raise `NotFound` for a prefix that no URL has, and for a regular expression that is found in none.

        `BadRequest` for a regular expression that is none.
        """
        known, compiled = list(urls), self._compiled()
        for prefix in self.prefixes:
            if not any(url.startswith(prefix) for url in known):
                raise NotFound(f"no source begins with {prefix}", known)
        if compiled is not None and not any(compiled.search(url) for url in known):
            raise NotFound(f"no source fits the regular expression {self.pattern}", known)


def consented(source: SourceInfo, url: str) -> bool:
    """Whether a caller who renames a source to a URL of this machine has said that it may be opened.

    Where the new URL begins is the caller's word. How it goes on is the map's: ``s3://bucket/../../etc/passwd``.
    """
    if foreign(NETWORK_MAP, source.url) and not source.foreign:
        return True
    return url != source.url and ".." not in source.url.split("/")


def rename_sources(node: VirtualNode, how: Rename | Callable[[str], str]) -> VirtualNode:
    """The tree with every source's URL changed; size and stamp stay (the files are the same)."""
    change = how.function() if isinstance(how, Rename) else how

    def info(source: SourceInfo) -> SourceInfo:
        url = change(source.url)
        return replace(source, url=url, foreign=foreign(NETWORK_MAP, url) and not consented(source, url))

    def array(path: str, old: VirtualArray) -> VirtualArray:
        return VirtualArray(old.meta, RenamedManifest(old.manifest, info))

    return map_arrays(node, array)
