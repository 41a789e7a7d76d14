"""The files that a DMR++ document leads to."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import FileFault, InvalidMetadata
from byteatlas.io.urls import join
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse, Stat
from byteatlas.scanning.parsers import settle
from byteatlas.scanning.report import detail_of
from byteatlas.values import dataclass, field
from byteatlas_scanners.dmrpp.xml import CHUNK, DMRPP, Element

SUFFIX = ".dmrpp"
PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
"""What stands for the data file's URL until a server fills it in."""
MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class DataFiles:
    """The files by what the document writes for them (None: the data file of the document).

    Attributes:
        notes: for a URL that could not be asked about, what is to be said of it.
    """

    by_href: Mapping[str | None, SourceInfo]
    notes: Mapping[str, str] = field(default_factory=dict)


def named_files(root: Element, where: str, chosen: str) -> dict[str | None, str]:
    """The URLs of all data files. Raises `InvalidMetadata` when the document does not say where its data are."""
    found: dict[str | None, str] = {None: join(where, chosen) if chosen else _url(root.get(f"{DMRPP}href"), where)}
    for item in root.iter(CHUNK):
        href = item.get("href") or item.get(f"{DMRPP}href")
        if href and href not in found:
            if len(found) >= MOST_FILES:
                raise InvalidMetadata(where, f"more than {MOST_FILES} data files")
            found[href] = _url(href, where)
    return found


def _url(href: str | None, where: str) -> str:
    """The data file: beside the document, unless that names an absolute URL."""
    if href and "://" in href and not href.startswith(PLACEHOLDER):
        return href
    if where.endswith(SUFFIX):
        return where.removesuffix(SUFFIX)
    if href and not href.startswith(PLACEHOLDER):
        return join(where, href)
    raise InvalidMetadata(where, "it does not say where its data are")


def data_files(named: Mapping[str | None, str]) -> Parse[DataFiles]:
    """What is known of these files. One that is not there, or not to be had, is no error: only reading needs it."""
    urls = list(dict.fromkeys(named.values()))
    known: dict[str, SourceInfo] = {}
    notes: dict[str, str] = {}
    for url, found in zip(urls, (yield from settle([Stat(url) for url in urls])), strict=True):
        if isinstance(found, SourceInfo):
            known[url] = found
        else:
            why = detail_of(found) if isinstance(found, FileFault) else "is not there"
            notes[url] = f"the data file {url} could not be looked at: {why}"
    return DataFiles({href: known.get(url, SourceInfo(url)) for href, url in named.items()}, notes)
