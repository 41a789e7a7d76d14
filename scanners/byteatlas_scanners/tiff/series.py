"""Which images belong together: stacks of same-shaped pages, their reduced-resolution levels and their masks.

Writers say so in several ways: NewSubfileType (TIFF 6.0 p. 36), the SubIFDs tag (Adobe PageMaker 6.0 notes), OME-XML,
ImageJ's and tifffile's image descriptions. What nobody claims is stacked when nothing but the pixels differs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.tiff.describe import Axes, imagej_axes, ome_images, shaped_axes
from byteatlas_scanners.tiff.ifd import Directories, Ifd
from byteatlas_scanners.tiff.layout import data_start
from byteatlas_scanners.tiff.libtiff import whole
from byteatlas_scanners.tiff.page import NONE, OLD_JPEG, Page, geometry, like, plain_lengths, to_page
from byteatlas_scanners.tiff.peek import Peek
from byteatlas_scanners.tiff.samples import chain, is_plain, sample_type
from byteatlas_scanners.tiff.tags import Tag

SAME_PLACE = (
    Tag.MODEL_PIXEL_SCALE,
    Tag.MODEL_TIEPOINT,
    Tag.MODEL_TRANSFORMATION,
    Tag.GEO_KEY_DIRECTORY,
    Tag.GEO_DOUBLE_PARAMS,
    Tag.GEO_ASCII_PARAMS,
    Tag.GDAL_NODATA,
    Tag.GDAL_METADATA,
    Tag.COLOR_MAP,
)
"""Tags that pages of one stack have in common, whatever else differs."""
MOST_FORMS = 10_000
"""Directories of one file that are damaged, or differ in more than where their data lie: a stack is one form."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Same-shaped pages along named leading axes (none for a single page), in C order of those axes."""

    pages: tuple[Page, ...]
    axes: Axes = field(default_factory=Axes)

    @property
    def first(self) -> Page:
        return self.pages[0]

    @property
    def leading(self) -> Shape:
        return self.axes.lengths


@dataclass(frozen=True, slots=True)
class Image:
    """One image of the file: its levels, the full resolution first, and masks by level (perhaps of another file)."""

    levels: tuple[Stack, ...]
    masks: Mapping[int, Page] = field(default_factory=dict)
    mask_source: SourceInfo | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A directory that cannot be presented."""

    name: str
    error: FileFault


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds."""

    images: tuple[Image, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A page that was interpreted already, by its geometry."""

    page: Page
    key: object


@dataclass(slots=True)
class _Reader:
    """Pages from directories; those of one geometry are interpreted once."""

    size: int
    peeks: Mapping[str, Peek]
    known: dict[tuple[object, ...], _Known] = field(default_factory=dict)
    keys: dict[str, object] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)

    def page(self, ifd: Ifd) -> Page | None:
        """A directory's page, or None with the reason noted."""
        try:
            return self._page(ifd)
        except FileFault as error:
            self.refused.append(Refused(ifd.name, error))
            return None

    def _page(self, ifd: Ifd) -> Page:
        seen = self.peeks.get(ifd.name)
        kind = (geometry(ifd), None if seen is None else seen.jfif)
        known = self.known.get(kind)
        if known is not None and known.page.compression != OLD_JPEG:
            self.keys[ifd.name] = known.key
            return like(known.page, ifd, self.size)
        page = to_page(ifd, self.size, seen)
        if page.compression == OLD_JPEG:
            page = whole(page, seen, self.size)
        # What cannot be decoded must not spoil a stack: chains are made here, for the full and for the last chunk.
        chains = tuple(repr(chain(page, rows)) for rows in sorted({page.chunk_height, page.edge_rows}))
        block = is_plain(page) and data_start(page, plain_lengths(page), self.size) is not None
        grid = None if block else (page.tiled, page.chunk_height, page.chunk_width)
        geo = tuple(page.ifd.bytes(tag) for tag in SAME_PLACE)
        key = (page.shape, page.planar, sample_type(page).str, page.photometric, chains, grid, geo)
        self.known[kind] = _Known(page, key)
        self.keys[ifd.name] = key
        return page


@dataclass(slots=True)
class _Draft:
    page: Page
    levels: list[Page] = field(default_factory=list)
    masks: list[Page] = field(default_factory=list)


def arrange(directories: Directories, size: int, peeks: Mapping[str, Peek]) -> Contents:
    """Sort all directories into images; ``peeks``: what was seen of their JPEG streams, by name.

    Raises `Unsupported` for a file of very many images that differ, which are no stack.
    """
    reader = _Reader(size, peeks)
    drafts: list[_Draft] = []
    for ifd in directories.ifds:
        page = reader.page(ifd)
        if len(reader.known) + len(reader.refused) > MOST_FORMS:
            raise Unsupported(Reason.TOO_LARGE, f"more than {MOST_FORMS} images that differ in size or kind")
        if page is not None:
            _place(page, drafts)
        if ifd.subs:
            _place_subs(ifd, None if page is None else drafts[-1], drafts, reader)
    if directories.broken is not None:
        reader.refused.append(Refused(f"page/{len(directories.ifds)}", directories.broken))
    return Contents(tuple(_images(drafts, reader)), tuple(reader.refused))


def _place(page: Page, drafts: list[_Draft]) -> None:
    """Put a page of the main chain where it belongs: a mask, a level of the image before it, or a new image."""
    if drafts:
        owner = drafts[-1]
        if page.is_mask:
            owner.masks.append(page)
            return
        if page.is_reduced and _is_level(owner.page, page):
            owner.levels.append(page)
            return
    drafts.append(_Draft(page))


def _place_subs(ifd: Ifd, owner: _Draft | None, drafts: list[_Draft], reader: _Reader) -> None:
    """Put the sub-directories of a page where they belong; below a refused one (no owner) the first is the image."""
    for j, sub in enumerate(ifd.subs):
        if isinstance(sub, FileFault):
            reader.refused.append(Refused(f"{ifd.name}/sub/{j}", sub))
            continue
        page = reader.page(sub)
        if page is None:
            continue
        if owner is None:
            owner = _Draft(page)
            drafts.append(owner)
        elif page.is_mask:
            owner.masks.append(page)
        elif _is_level(owner.page, page) and (page.is_reduced or not owner.page.is_reduced):
            owner.levels.append(page)
        else:
            drafts.append(_Draft(page))


def _is_level(full: Page, page: Page) -> bool:
    """Whether a page can be a smaller version of an image."""
    smaller = page.width <= full.width and page.height <= full.height and page.shape != full.shape
    return smaller and page.samples == full.samples and sample_type(page) == sample_type(full)


def _images(drafts: Sequence[_Draft], reader: _Reader) -> Iterable[Image]:
    described = _described(drafts, reader)
    if described is not None:
        yield from described
        return
    groups: dict[object, list[_Draft]] = {}
    for draft in drafts:
        groups.setdefault(_key(draft, reader), []).append(draft)
    for members in groups.values():
        yield from _stacked(members)


def _stacked(members: list[_Draft]) -> Iterable[Image]:
    """Drafts of one key as a single image, stacked along ``page``."""
    first = members[0]
    if len(members) == 1:
        yield Image((Stack((first.page,)), *(Stack((p,)) for p in _by_size(first.levels))), _masks(first))
        return
    axes = Axes(("page",), (len(members),))
    levels = [_by_size(m.levels) for m in members]
    stacks = [Stack(tuple(m.page for m in members), axes)]
    stacks += [Stack(tuple(pages), axes) for pages in zip(*levels, strict=True)]
    yield Image(tuple(stacks))


def _by_size(pages: Iterable[Page]) -> list[Page]:
    return sorted(pages, key=lambda p: -p.width * p.height)


def _masks(draft: _Draft) -> dict[int, Page]:
    """Masks by the level that they have the size of."""
    sizes = [(p.height, p.width) for p in (draft.page, *_by_size(draft.levels))]
    found: dict[int, Page] = {}
    for mask in draft.masks:
        at = (mask.height, mask.width)
        level = next((i for i, s in enumerate(sizes) if s == at and i not in found), None)
        # A mask of no level's size is kept under a number of its own, and shown as an image by itself.
        found[level if level is not None else -1 - len(found)] = mask
    return found


def _key(draft: _Draft, reader: _Reader) -> object:
    """What images must share to be stacked; those with masks stay by themselves."""
    if draft.masks:
        return id(draft)
    return (reader.keys[draft.page.ifd.name], tuple(reader.keys[p.ifd.name] for p in _by_size(draft.levels)))


def _described(drafts: Sequence[_Draft], reader: _Reader) -> list[Image] | None:
    """Images as OME-XML, ImageJ or tifffile describe them; None where they do not, or not truthfully."""
    if not drafts:
        return None
    text = drafts[0].page.ifd.text(Tag.IMAGE_DESCRIPTION) or ""
    if text.rstrip().endswith("OME>") and "<OME" in text[:4096]:
        return _ome(text, drafts, reader)
    axes = imagej_axes(text) or shaped_axes(text, drafts[0].page.shape)
    if axes is None or any(d.masks or d.levels for d in drafts[1:]):
        return None
    count = math.prod(axes.lengths)
    if count > 1 and len(drafts) == 1 and not drafts[0].levels:
        pages = _implied(drafts[0].page, count, reader.size)
        return None if pages is None else [Image((Stack(pages, axes),))]
    if len(drafts) != count or len({_key(d, reader) for d in drafts}) != 1 or drafts[0].levels:
        return None
    return [Image((Stack(tuple(d.page for d in drafts), axes),))]


def _implied(page: Page, count: int, size: int) -> tuple[Page, ...] | None:
    """Pages that have no directory: their data follow the first one's (ImageJ's large stacks, tifffile's series)."""
    if not is_plain(page) or page.compression != NONE or count > size:
        return None
    start = int(page.offsets[0])
    one = page.row_bytes * page.height * (page.samples if page.planar else 1)
    if page.tiled or start + count * one > size:
        return None
    whole = replace(page, chunk_height=page.height)
    planes = page.samples if page.planar else 1
    step = page.row_bytes * page.height
    pages = []
    for i in range(count):
        offsets = [start + i * one + k * step for k in range(planes)]
        pages.append(_at(whole, offsets, step))
    return tuple(pages)


def _at(page: Page, offsets: list[int], length: int) -> Page:
    at = np.asarray(offsets, np.uint64)
    return replace(page, offsets=at, counts=np.full(len(at), length, np.uint64))


def _ome(text: str, drafts: Sequence[_Draft], reader: _Reader) -> list[Image] | None:
    """One image for each OME Image whose planes are all in this file and alike; None when any is not."""
    pages = {d.page.ifd.name: d for d in drafts}
    found: list[Image] = []
    used: set[str] = set()
    for image in ome_images(text, len(drafts)):
        names = [f"page/{i}" for i in image.pages]
        if not names or any(n not in pages for n in names) or used & set(names) or len(set(names)) != len(names):
            return None
        members = [pages[n] for n in names]
        if len({_key(m, reader) for m in members}) != 1:
            return None
        used |= set(names)
        axes = image.axes
        stacks = [Stack(tuple(m.page for m in members), axes)]
        levels = [_by_size(m.levels) for m in members]
        stacks += [Stack(tuple(level), axes) for level in zip(*levels, strict=True)]
        found.append(Image(tuple(stacks), _masks(members[0]) if len(members) == 1 else {}))
    rest = [d for d in drafts if d.page.ifd.name not in used]
    for draft in rest:
        found.extend(_stacked([draft]))
    return found or None
