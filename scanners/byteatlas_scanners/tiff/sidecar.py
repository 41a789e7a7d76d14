"""Masks in a file of their own beside the image: ``name.tif.msk``, as GDAL writes them (GTiff driver, "Nodata / mask").

Looking for it costs a request that mostly finds nothing, so it is done only when asked for:
``ScanOptions(extra={"tiff": {"sidecar_masks": True}})``.
"""

from __future__ import annotations

from byteatlas.errors import FileFault
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import elsewhere, stat
from byteatlas.values import replace
from byteatlas_scanners.tiff.ifd import read_directories
from byteatlas_scanners.tiff.page import Page, to_page
from byteatlas_scanners.tiff.series import Contents, Refused

SUFFIX = ".msk"


def with_sidecar(contents: Contents, source: SourceInfo) -> Parse[Contents]:
    """The same contents, with the masks of ``SUFFIX`` for the first image's levels that have none.

    What is wrong with the side file is said in the report; the image itself is whole.
    """
    if not contents.images:
        return contents
    name = source.url.rpartition("/")[2] + SUFFIX
    refused: list[Refused] = []
    pages: list[Page] = []
    try:
        found = yield from stat(name)
        if found is None:
            return contents
        size = found.size or 0
        directories = yield from elsewhere(name, read_directories(size))
    except FileFault as error:
        return replace(contents, refused=(*contents.refused, Refused(SUFFIX, error)))
    for ifd in directories.ifds:
        try:
            pages.append(to_page(replace(ifd, name=f"{SUFFIX}/{ifd.name}"), size))
        except FileFault as error:
            refused.append(Refused(f"{SUFFIX}/{ifd.name}", error))
    if directories.broken is not None:
        refused.append(Refused(f"{SUFFIX}/page/{len(directories.ifds)}", directories.broken))
    contents = replace(contents, refused=(*contents.refused, *refused))
    first = contents.images[0]
    masks = dict(first.masks)
    if masks:
        return contents
    for i, stack in enumerate(first.levels):
        extent = (stack.first.height, stack.first.width)
        page = next((p for p in pages if (p.height, p.width) == extent and p.samples == 1), None)
        if page is not None:
            masks[i] = page
    image = replace(first, masks=masks, mask_source=found)
    return replace(contents, images=(image, *contents.images[1:]))
