"""The sources of a map: which there are, and whether they are still the files that were indexed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from byteatlas.errors import FetchFailed, Forbidden, SourceChanged
from byteatlas.io.open import opened
from byteatlas.io.source import Opener
from byteatlas.io.stamp import Check, check_source
from byteatlas.manifest.model import SourceInfo, VirtualNode
from byteatlas.manifest.ops.common import all_arrays, blocks

State: TypeAlias = Literal["same", "there", "changed", "unreachable", "forbidden"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """One source and what became of it: ``there`` means that nothing was recorded to compare it with."""

    url: str
    state: State
    detail: str = ""


def sources_of(node: VirtualNode) -> dict[str, SourceInfo]:
    """Every source that a chunk of the tree refers to, by URL."""
    found: dict[str, SourceInfo] = {}
    for _, array in all_arrays(node):
        for _, rows in blocks(array.manifest):
            used = np.unique(rows.source[rows.source >= 0]).tolist()
            sources = array.manifest.sources
            found.update((sources[i].url, sources[i]) for i in used)
    return found


def check_sources(node: VirtualNode, opener: Opener, check: Check = "stamp") -> Iterator[SourceState]:
    """Look at every source of a tree: is it there, and is it the file that was indexed?"""
    for url, info in sources_of(node).items():
        try:
            source = opened(opener, info)
            source.size()
            check_source(source, info.size, info.stamp, check)
        except SourceChanged as error:
            yield SourceState(url, "changed", str(error))
        except Forbidden as error:
            yield SourceState(url, "forbidden", str(error))
        except FetchFailed as error:
            yield SourceState(url, "unreachable", str(error))
        else:
            known = info.size is not None or info.stamp is not None
            yield SourceState(url, "same" if known else "there")
