"""Many archives indexed side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from byteatlas.api.indexing import scan
from byteatlas.api.targets import Target, each_of
from byteatlas.arguments import VERBS, accept
from byteatlas.executors.results import Results
from byteatlas.executors.running import Executor, for_each
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import local_path
from byteatlas.io.policy import Policy
from byteatlas.progress import OnProgress
from byteatlas.types import JSON
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from byteatlas.api.tree import VirtualTree
    from byteatlas.scanning.contract import ScanOptions

AT_ONCE = 32
"""Files on servers that are scanned at a time."""


@dataclass(frozen=True, slots=True)
class ScanOne:
    """Scan one file. A value, so that it can be sent to other processes."""

    options: ScanOptions | None = None
    format: str | None = None
    access: Access = DEFAULT

    def __call__(self, url: str) -> VirtualTree:
        return scan(url, format=self.format, on_refusal="ignore", options=self.options, access=self.access)


def scan_many(
    urls: Sequence[Target] | Target,
    executor: Executor = None,
    *,
    format: str | None = None,
    options: ScanOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
) -> Results[VirtualTree]:
    """Index many archive files side by side. A file that fails does not stop the others.

    Args:
        urls: paths or URLs; or one of them, or a pattern (``data/*.nc``).
        executor: ``"serial"``, ``"threads"``, ``"processes"`` (with ``:N`` for N workers), ``"dask"`` for a local
            cluster, ``"dask:ADDRESS"``, or an object with ``submit``; None = processes where there are many
            files, threads for files on servers.
        format: as for `scan`.
        options: as for `scan`. Refusals are in each tree's ``.report``.
        access: how bytes may be reached, in the workers too; ``storage_options`` and ``policy`` are short for one.
        progress: called after each file.

    Returns: ``.results`` and ``.failures`` by URL.

    >>> found = ba.scan_many(["jan.nc", "lost.nc"], executor="serial")
    >>> list(found.results), list(found.failures)
    (['jan.nc'], ['lost.nc'])
    """
    accept(VERBS, urls=urls, format=format, progress=progress)
    how = Access.of(access, storage_options, policy)
    names = [os.fspath(url) for url in each_of(urls, "urls", how)]
    chosen = _implied(names) if executor is None else executor
    return for_each(ScanOne(options, format, how), names, chosen, verb="scan", progress=progress)


def _implied(names: Sequence[str]) -> Executor:
    """Threads for files on servers, which are mostly waited for, unless there are as many cores; else what is usual."""
    remote = len(names) > 1 and all(local_path(name) is None for name in names)
    return f"threads:{AT_ONCE}" if remote and (os.cpu_count() or 1) < AT_ONCE else None
