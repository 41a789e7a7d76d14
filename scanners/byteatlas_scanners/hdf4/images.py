"""Raster images (GR, RI8, RIG) and their palettes (HDF 4.2 specification, chapters on raster images)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, RegularGrid
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.hdf4.build import place, serializer
from byteatlas_scanners.hdf4.file import Hdf4File, load_attributes
from byteatlas_scanners.hdf4.format.directory import TagRef
from byteatlas_scanners.hdf4.format.elements import ChunkedElement, Element, PlainElement, find_element
from byteatlas_scanners.hdf4.format.records import RecordCursor
from byteatlas_scanners.hdf4.format.tags import RASTER_RLE, ElementTag
from byteatlas_scanners.hdf4.format.vgroup import Vgroup
from byteatlas_scanners.hdf4.storage import ElementPlacement, stored_ranges
from byteatlas_scanners.hdf4.values.number_types import type_of_record

ALL, IMAGE, PALETTE_SHAPE = "RIG0.0", "RI0.0", (256, 3)
BY_PIXEL, BY_LINE, BY_PLANE = 0, 1, 2
DATA_TAGS = (ElementTag.IMAGE, ElementTag.IMAGE_COMPRESSED)
COMPRESSED_8 = {ElementTag.IMAGE_8: 0, ElementTag.IMAGE_8_RLE: RASTER_RLE, ElementTag.IMAGE_8_IMCOMP: 12}


@dataclass(frozen=True, slots=True)
class RasterImage:
    """One image.

    Attributes:
        keys: what Vgroups may name it by.
        data: its pixels.
        size: rows, columns and components.
        compression: tag of an old compression; 0 for none.
    """

    index: int
    name: str
    keys: tuple[TagRef, ...]
    data: TagRef
    size: Shape
    dtype: np.dtype[np.generic]
    interlace: int = BY_PIXEL
    compression: int = 0
    palette: TagRef | None = None
    attributes: Mapping[str, JSON] = field(default_factory=dict)
    lost: tuple[str, ...] = ()

    @property
    def locators(self) -> tuple[str, ...]:
        return (f"gr/{self.index}",)

    @property
    def shape(self) -> Shape:
        rows, columns, parts = self.size
        if parts == 1:
            return (rows, columns)
        return {BY_LINE: (rows, parts, columns), BY_PLANE: (parts, rows, columns)}.get(self.interlace, self.size)

    @property
    def dims(self) -> tuple[str, ...]:
        if self.size[2] == 1:
            return ("y", "x")
        return {BY_LINE: ("y", "band", "x"), BY_PLANE: ("band", "y", "x")}.get(self.interlace, ("y", "x", "band"))


class ImageArrays(NamedTuple):
    """An image as arrays."""

    pixels: VirtualArray
    palette: VirtualArray | None


def read_images(file: Hdf4File) -> Parse[list[RasterImage]]:
    """All images: those of Vgroups, then older ones, each once. What cannot be understood is left to its element."""
    vgroups = [g for g in file.groups.values() if isinstance(g, Vgroup) and g.kind == IMAGE]
    yield from load_attributes(file, [r for g in vgroups for t, r in g.members if t == ElementTag.VDATA_HEADER])
    found: list[RasterImage] = []
    places: set[tuple[int, int]] = set()
    for image in (*_of_vgroups(file, vgroups), *_of_groups(file), *_oldest(file)):
        place_ = file.directory.find(*image.data)
        at = (0, image.data.ref) if place_ is None else (1, place_.offset)
        if at not in places:
            places.add(at)
            found.append(replace(image, index=len(found)))
    return found


def _of_vgroups(file: Hdf4File, groups: list[Vgroup]) -> Iterator[RasterImage]:
    for group in groups:
        refs = [ref for tag, ref in group.members if tag == ElementTag.VDATA_HEADER]
        attributes, lost = file.attributes(refs)
        image = _described(file, dict(group.members), group.name, TagRef(ElementTag.VGROUP, group.ref))
        if image is not None:
            # Whatever it says of interlacing: the library writes such images pixel by pixel.
            yield replace(image, interlace=BY_PIXEL, attributes=attributes, lost=tuple(lost))


def _of_groups(file: Hdf4File) -> Iterator[RasterImage]:
    for number, key in enumerate(file.directory.of_tags(ElementTag.IMAGE_GROUP)):
        raw = file.records.get(key)
        if isinstance(raw, bytes):
            pairs = RecordCursor(raw).numbers(len(raw) // 2)
            members = dict(zip(pairs[::2], pairs[1::2], strict=False))
            image = _described(file, members, f"Raster Image #{number}", key)
            if image is not None:
                yield image


def _described(file: Hdf4File, members: dict[int, int], name: str, key: TagRef) -> RasterImage | None:
    """An image as its group's members say; None without size or data."""
    data = next((TagRef(tag, members[tag]) for tag in DATA_TAGS if tag in members), None)
    if data is None or ElementTag.IMAGE_DIMENSIONS not in members:
        return None
    try:
        record = RecordCursor(file.record(ElementTag.IMAGE_DIMENSIONS, members[ElementTag.IMAGE_DIMENSIONS]))
        columns, rows = record.number(4), record.number(4)
        kind = TagRef(*record.numbers(2))
        parts, interlace, compression = record.number(2), record.number(2), record.number(2)
        dtype = type_of_record(file.record(*kind), 0) if kind.ref else np.dtype("u1")
    except FileFault:
        return None
    palette = TagRef(ElementTag.PALETTE, members[ElementTag.PALETTE]) if ElementTag.PALETTE in members else None
    size = (rows, columns, max(1, parts))
    keys = (key, data)
    return RasterImage(
        0, name or f"image_{key.ref}", keys, data, size, dtype, interlace, _real(compression), palette=palette
    )


def _real(compression: int) -> int:
    """The number of a compression; those of data that are as they are, or of special elements, are none."""
    return compression if compression > 1 else 0


def _oldest(file: Hdf4File) -> Iterator[RasterImage]:
    """Images of eight bits that belong to no group."""
    for tag, compression in COMPRESSED_8.items():
        for key in file.directory.of_tags(tag):
            raw = file.records.get(TagRef(ElementTag.IMAGE_SIZE_8, key.ref))
            if isinstance(raw, bytes) and len(raw) >= 4:
                columns, rows = RecordCursor(raw).numbers(2)
                palette = (
                    TagRef(ElementTag.PALETTE_8, key.ref)
                    if file.directory.find(ElementTag.PALETTE_8, key.ref)
                    else None
                )
                yield RasterImage(
                    0, f"Raster Image #{key.ref}", (key,), key, (rows, columns, 1), np.dtype("u1"),
                    compression=compression, palette=palette,
                )  # fmt: skip


def image_arrays(file: Hdf4File, image: RasterImage) -> Parse[ImageArrays]:
    """An image's pixels, and its palette if it can be read. Raises `CorruptFile`, `Unsupported`."""
    if min(image.size) <= 0 or any(n >> 31 for n in image.size):
        raise CorruptFile(0, f"an image of {image.size[1]} x {image.size[0]} pixels")
    element = yield from find_element(file.directory, *image.data)
    if element is None:
        raise Unsupported(Reason.NEVER_WRITTEN, "an image without pixels")
    placement = yield from _place(file, image, element)
    (palette,) = yield from gather([_palette(file, image)])
    pixels = _array(image.dtype, image.shape, placement, image.dims, image.attributes)
    return ImageArrays(pixels, None if isinstance(palette, FileFault) else palette)


def _place(file: Hdf4File, image: RasterImage, element: Element) -> Parse[ElementPlacement]:
    if isinstance(element, ChunkedElement):
        return (yield from _chunked(file, image, element))
    if not image.compression:
        return (yield from place(file, element, image.shape, image.dtype))
    if image.compression != RASTER_RLE or image.dtype.itemsize != 1 or not isinstance(element, PlainElement):
        raise Unsupported(Reason.COMPRESSION, f"an image of compression {image.compression}")
    parts = yield from stored_ranges(element, 0, element.length, file.source)
    from byteatlas.meta.model import Encoding

    chain = (serializer(image.dtype), CodecSpec("byteatlas.hdf4-rle", {"form": "raster"}))
    return ElementPlacement(image.shape, (Encoding(chain),), parts.manifest((1,) * len(image.shape)))


def _chunked(file: Hdf4File, image: RasterImage, element: ChunkedElement) -> Parse[ElementPlacement]:
    """Chunks are of whole pixels: their components are no axis of the element."""
    rows, columns, parts = image.size
    if parts > 1 and element.shape == (rows, columns) and element.itemsize == parts * image.dtype.itemsize:
        raise Unsupported(Reason.LAYOUT, "chunks of an image of several components")
    return (yield from place(file, element, image.shape, image.dtype))


def _palette(file: Hdf4File, image: RasterImage) -> Parse[VirtualArray | None]:
    if image.palette is None:
        return None
    element = yield from find_element(file.directory, *image.palette)
    if element is None:
        return None
    placement = yield from place(file, element, PALETTE_SHAPE, np.dtype("u1"))
    return _array(np.dtype("u1"), PALETTE_SHAPE, placement, ("color", "rgb"), {"long_name": f"palette of {image.name}"})


def _array(
    dtype: np.dtype[np.generic],
    shape: Shape,
    placement: ElementPlacement,
    dims: tuple[str, ...],
    attributes: Mapping[str, JSON],
) -> VirtualArray:
    native = dtype.newbyteorder("=")
    fill = None if placement.fill is None else np.frombuffer(placement.fill, dtype, 1).astype(native)[0]
    meta = ArrayMeta(
        shape=shape, data_type=from_numpy(native), grid=RegularGrid(placement.chunk), encodings=placement.encodings,
        fill_value=fill, dimension_names=dims, attributes=attributes,
    )  # fmt: skip
    return VirtualArray(meta, placement.manifest)
