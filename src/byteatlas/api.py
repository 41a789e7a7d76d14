"""The verbs of the library: scan, write, open, combine. Everything public here is exported by ``byteatlas``."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

from byteatlas.errors import Unsupported
from byteatlas.io.local import local_path
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import ReportItem, VirtualGroup
from byteatlas.scan.contract import Scanner, ScanOptions
from byteatlas.scan.driver import Progress, scan_source
from byteatlas.scan.plugins import installed
from byteatlas.types import JSON

Target: TypeAlias = str | os.PathLike[str]
OnRefusal: TypeAlias = Literal["warn", "raise", "ignore"]


class RefusalWarning(UserWarning):
    """Datasets of a scanned file were refused; the scan report says which and why."""


def scan(
    url: Target,
    *,
    format: str | None = None,
    on_refusal: OnRefusal = "warn",
    options: ScanOptions | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    scanners: Mapping[str, Scanner] | None = None,
    progress: Progress | None = None,
) -> VirtualGroup:
    """Index one archive file: a tree of virtual arrays and a report of every dataset.

    Args:
        url: a path, or any URL that fsspec opens.
        format: the scanner's name; None = found by the file's first bytes.
        on_refusal: what to do about datasets that cannot be represented: one warning that counts them by reason, the
            first one as an `Unsupported` error, or nothing. They are in ``.report`` in any case.
        policy: which other files the file may lead to (external links, raw storage, virtual datasets). By default a
            local file may lead anywhere, one from the network to no local file.

    Raises:
        FetchFailed: the file is not there or cannot be reached.
        CorruptFile: nothing of the file can be understood.
        Unsupported: no scanner knows the format; or a refusal, when asked to raise.
    """
    name = os.fspath(url)
    local = local_path(name) is not None
    pool = SourcePool(storage_options, policy or Policy(local=local))
    found = scan_source(
        SourcePool(storage_options)(name),
        pool,
        installed() if scanners is None else scanners,
        options or ScanOptions(),
        format=format,
        progress=progress,
    )
    _tell(name, [item for item in found.report if item.status == "refused"], on_refusal)
    return found


def _tell(url: str, refused: list[ReportItem], on_refusal: OnRefusal) -> None:
    if not refused or on_refusal == "ignore":
        return
    if on_refusal == "raise":
        raise Unsupported(refused[0].reason or "unknown", refused[0].detail, f"{url}:{refused[0].path}")
    counts = ", ".join(f"{n} x {reason}" for reason, n in Counter(item.reason for item in refused).most_common())
    first = f"{refused[0].path}: {refused[0].detail}"
    warnings.warn(f"{url}: {len(refused)} datasets refused ({counts}); first: {first}", RefusalWarning, stacklevel=3)
