"""TIFF files as tifffile has them, and as libtiff where its way counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.source import Source
from byteatlas.values import dataclass
from byteatlas.verifying.native.contract import NativeArray, NativeFile
from byteatlas.verifying.native.place import path_or_file

YCBCR, OLD_JPEG, GROUP_3 = 6, 6, 3
PHOTOMETRIC, T4_OPTIONS = 262, 292
BYTES = frozenset({1, 5, 8, 32773, 32946})
"""Compressions of bytes: subsampled colours are still to be spread after them."""


def _pixels(page: Any) -> NDArray[Any]:
    """A page's values by tifffile; by libtiff where its way counts (see `codecs.tiff_libtiff`).

    What a page says itself decides: tifffile takes old JPEG tagged RGB for YCbCr. libtiff does so as well, but then
    reads other colours than the stream has.
    """
    spread = page.compression == OLD_JPEG or (page.compression in BYTES and page.is_subsampled)
    by_libtiff = page.photometric == YCBCR and spread and _tag(page, PHOTOMETRIC, YCBCR) == YCBCR
    if page.compression == GROUP_3 and _tag(page, T4_OPTIONS, 0) & 1:
        by_libtiff = True  # rows of two dimensions: tifffile's decoder reads them as rows of one
    if by_libtiff and isinstance(page.index, int):
        import imagecodecs

        handle = page.parent.filehandle
        handle.seek(0)
        try:
            return np.asarray(imagecodecs.tiff_decode(handle.read(), index=page.index))
        except RuntimeError:
            pass  # libtiff does not take it
    return np.asarray(page.asarray())


def _tag(page: Any, number: int, default: int) -> int:
    value = page.tags.valueof(number, default)
    return int(value) if isinstance(value, int) else default


@dataclass(frozen=True, slots=True, eq=False)
class TiffArray:
    """One page, or several stacked along a leading axis."""

    pages: tuple[Any, ...]
    stacked: bool

    @property
    def shape(self) -> tuple[int, ...]:
        inner = tuple(self.pages[0].shape)
        return (len(self.pages), *inner) if self.stacked else inner

    @property
    def attributes(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        if not self.stacked:
            return np.asarray(_pixels(self.pages[0])[selection])
        return np.stack([_pixels(page)[selection[1:]] for page in self.pages[selection[0]]])


@dataclass(frozen=True, slots=True, eq=False)
class Tiff:
    file: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        pages = [self._page(locator) for locator in locators]
        found = tuple(page for page in pages if page is not None)
        return TiffArray(found, len(found) > 1) if found and len(found) == len(pages) else None

    def names(self) -> list[str]:
        return []

    def _page(self, locator: str) -> Any:
        """``page/3`` or ``page/3/sub/1``."""
        words = locator.split("/")
        if len(words) not in (2, 4) or words[0] != "page":
            return None
        page = self.file.pages[int(words[1])]
        if len(words) == 2:
            return page
        return page.pages[int(words[3])] if page.pages is not None else None


@contextmanager
def open_tiff(source: Source) -> Iterator[NativeFile]:
    try:
        import tifffile
    except ImportError as error:
        raise MissingExtra("verify", "verifying TIFF files") from error
    with path_or_file(source) as place, tifffile.TiffFile(place) as file:
        yield Tiff(file)
