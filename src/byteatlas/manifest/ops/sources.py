"""The sources of a map: which there are, and whether they are still the files that were indexed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from byteatlas.errors import FetchFailed, Forbidden, SourceChanged
from byteatlas.io.local import absolute, identity, local_path
from byteatlas.io.open import opened
from byteatlas.io.source import Opener
from byteatlas.io.stamp import Check, same_stamp
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import SourceInfo, VirtualNode
from byteatlas.values import dataclass

State: TypeAlias = Literal["same", "there", "changed", "moved", "vanished", "unreachable", "forbidden"]
AT_ONCE = 16
"""Sources that are asked for at the same time."""
MOST_TAIL = 4
"""Folders above a file that may have moved with it."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """One source and what became of it.

    Attributes:
        state: ``same`` as when it was indexed, ``there`` (nothing was recorded to compare it with), ``changed``,
            ``moved`` (the file is at ``moved_to``), ``vanished``, ``unreachable`` (the storage does not say), or
            ``forbidden`` by the policy.
        detail: a sentence.

    >>> ba.write(ba.scan("jan.nc"), "state.json")
    >>> [state] = ba.check("state.json")
    >>> state.state, state.url.rpartition("/")[2]
    ('same', 'jan.nc')
    """

    url: str
    state: State
    detail: str = ""
    moved_to: str | None = None

    @property
    def ok(self) -> bool:
        return self.state in ("same", "there")


def check_sources(
    node: VirtualNode, opener: Opener, check: Check = "stamp", places: Sequence[str] = ()
) -> Iterator[SourceState]:
    """Look at every source of a tree: is it there, and is it the file that was indexed? No data are read.

    Args:
        places: local folders where files may be that are not in their places.
    """
    from concurrent.futures import ThreadPoolExecutor

    infos = _files(node)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        states = list(pool.map(lambda info: _state(info, opener, check), infos))
    folders = [absolute(place).rstrip("/") for place in places]
    folders += [p.rpartition("/")[0] for s in states if s.ok and (p := local_path(s.url)) is not None]
    folders = list(dict.fromkeys(folders))
    for info, state in zip(infos, states, strict=True):
        found = _moved_to(info, folders) if state.state == "vanished" else None
        if found is None:
            yield state
        else:
            yield SourceState(info.url, "moved", f"{info.url}: the file is at {found} now", found)


def _files(node: VirtualNode) -> list[SourceInfo]:
    """Every file that a chunk of the tree refers to, also those that are parts of others."""
    found: dict[str, SourceInfo] = {}
    for info in sources_of(node).values():
        found.update((f.url, f) for f in (info.files if isinstance(info, JoinedInfo) else (info,)))
    return list(found.values())


def _state(info: SourceInfo, opener: Opener, check: Check) -> SourceState:
    url = info.url
    try:
        opened(opener, info, check).size()
    except SourceChanged as error:
        return SourceState(url, "changed", str(error))
    except Forbidden as error:
        return SourceState(url, "forbidden", str(error))
    except FetchFailed as error:
        return SourceState(url, "vanished" if error.absent else "unreachable", str(error))
    known = info.size is not None or info.stamp is not None
    return SourceState(url, "same" if known else "there")


def _moved_to(info: SourceInfo, folders: Sequence[str]) -> str | None:
    """Where a local file is that is not in its place: under its name, with its size and time, in one of the folders."""
    path = local_path(info.url)
    if path is None or info.size is None:
        return None
    parts = path.strip("/").split("/")
    for folder in folders:
        for n in range(1, min(len(parts), MOST_TAIL) + 1):
            candidate = "/".join([folder, *parts[-n:]])
            there = identity(candidate)
            if there is not None and there.size == info.size and same_stamp(info.stamp or "", str(there.time)):
                return candidate
    return None
