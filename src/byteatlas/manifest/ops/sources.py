"""The sources of a map: which there are, and whether they are still the files that were indexed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from byteatlas.errors import FetchFailed, Forbidden, SourceChanged
from byteatlas.io.open import opened
from byteatlas.io.source import Opener
from byteatlas.io.stamp import Check
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import VirtualNode
from byteatlas.values import dataclass

State: TypeAlias = Literal["same", "there", "changed", "unreachable", "forbidden"]


@dataclass(frozen=True, slots=True)
class SourceState:
    """One source and what became of it: ``there`` means that nothing was recorded to compare it with."""

    url: str
    state: State
    detail: str = ""


def check_sources(node: VirtualNode, opener: Opener, check: Check = "stamp") -> Iterator[SourceState]:
    """Look at every source of a tree: is it there, and is it the file that was indexed?"""
    for url, info in sources_of(node).items():
        try:
            opened(opener, info, check).size()
        except SourceChanged as error:
            yield SourceState(url, "changed", str(error))
        except Forbidden as error:
            yield SourceState(url, "forbidden", str(error))
        except FetchFailed as error:
            yield SourceState(url, "unreachable", str(error))
        else:
            known = info.size is not None or info.stamp is not None
            yield SourceState(url, "same" if known else "there")
