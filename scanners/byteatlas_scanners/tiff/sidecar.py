"""Masks in a file of their own beside the image: ``name.tif.msk``, as GDAL writes them (GTiff driver, "Nodata / mask").

Looking for it costs a request that mostly finds nothing, so it is done only when asked for:
``ScanOptions(extra={"tiff": {"sidecar_masks": True}})``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Elsewhere, Parse, ScanOptions, Stat
from byteatlas.types import ByteRange
from byteatlas_scanners.tiff.ifd import read_directories
from byteatlas_scanners.tiff.page import Page, to_page
from byteatlas_scanners.tiff.series import Contents

SUFFIX = ".msk"
OPTION = "sidecar_masks"


def wanted(options: ScanOptions) -> bool:
    """Whether the caller asked for sidecar masks."""
    mine = options.extra.get("tiff")
    return isinstance(mine, Mapping) and bool(mine.get(OPTION))


def with_sidecar(contents: Contents, source: SourceInfo) -> Parse[Contents]:
    """The same contents, with the masks of ``SUFFIX`` for the first image's levels that have none."""
    if not contents.images:
        return contents
    name = source.url.rpartition("/")[2] + SUFFIX
    (found,) = yield (Stat(name),)
    if not isinstance(found, SourceInfo) or not found.size:
        return contents
    try:
        directories = yield from _elsewhere(read_directories(found.size), name)
    except CorruptFile:
        return contents  # it is GDAL's to say what a broken sidecar means; the image itself is whole
    pages: list[Page] = []
    for ifd in directories.ifds:
        try:
            pages.append(to_page(replace(ifd, name=f"{SUFFIX}/{ifd.name}"), found.size))
        except (CorruptFile, Unsupported):
            continue
    first = contents.images[0]
    masks = dict(first.masks)
    if masks:
        return contents
    for i, stack in enumerate(first.levels):
        size = (stack.first.height, stack.first.width)
        page = next((p for p in pages if (p.height, p.width) == size and p.samples == 1), None)
        if page is not None:
            masks[i] = page
    image = replace(first, masks=masks, mask_source=found)
    return replace(contents, images=(image, *contents.images[1:]))


def _elsewhere(parser: Parse[Any], url: str) -> Parse[Any]:
    """Run a parser on another file."""
    asks = next(parser)
    while True:
        try:
            answers = yield [Elsewhere(url, a) if isinstance(a, ByteRange) else a for a in asks]
        except CorruptFile as error:
            asks = parser.throw(error)
            continue
        try:
            asks = parser.send(answers)
        except StopIteration as stop:
            return stop.value
