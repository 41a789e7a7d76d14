"""From elements to chunks: a chunk shape, encodings and a manifest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.io.sources.parts import CONSTANT
from byteatlas.manifest.kinds.joined import joined_chunks
from byteatlas.manifest.kinds.strided import contiguous
from byteatlas.manifest.model import ChunkManifest, Manifest, SourceInfo, empty_manifest
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.parsers import stat
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.format.elements import (
    ZEROS,
    CompressedElement,
    Element,
    ElementCompression,
    ExternalElement,
    LinkedElement,
    PlainElement,
    StoredElement,
)
from byteatlas_scanners.hdf4.format.tags import CompressionCode

REVISED_SZIP = 0x10000
"""Bit of szip's options: data begin with a preamble."""
OPTIONS_SZIP = 0xFF
MOST_BYTES = 1 << 46


@dataclass(frozen=True, slots=True)
class ElementPlacement:
    """Where an array's bytes are.

    Attributes:
        chunk: the chunks' shape.
        encodings: of the manifest's chunks.
        fill: one element's stored bytes, what missing chunks read as; None: as the dataset says.
    """

    chunk: Shape
    encodings: tuple[Encoding, ...]
    manifest: Manifest
    fill: bytes | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """An array to be placed: its shape, how its elements are stored, bytes of the element before the first one."""

    shape: Shape
    serializer: CodecSpec
    itemsize: int
    skip: int = 0

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.itemsize


def whole(shape: Shape) -> Shape:
    """One chunk for everything; a chunk has no empty axis."""
    return tuple(n or 1 for n in shape)


def grid_of(shape: Shape, chunk: Shape) -> Shape:
    return tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))


def compression_codec(compression: ElementCompression, itemsize: int) -> CodecSpec | None:
    """The codec that undoes a compression. Raises `Unsupported`, `CorruptFile`."""
    numbers = compression.numbers
    match compression.coder:
        case CompressionCode.NONE:
            return None
        case CompressionCode.RLE:
            return CodecSpec("byteatlas.hdf4-rle", {"form": "data"})
        case CompressionCode.DEFLATE:
            return CodecSpec("numcodecs.zlib", {"level": 6})
        case CompressionCode.SKPHUFF if 0 < numbers[0] <= 1 << 16:
            return CodecSpec("byteatlas.hdf4-skphuff", {"skip": numbers[0]})
        case CompressionCode.NBIT:
            _, sign, ones, start, length = numbers
            if not 0 < length <= start + 1 <= 8 * itemsize <= 64:
                raise CorruptFile(0, f"{length} bits from bit {start} down, of {8 * itemsize}")
            return CodecSpec(
                "byteatlas.hdf4-nbit",
                {"itemsize": itemsize, "start": start, "length": length, "sign": bool(sign), "ones": bool(ones)},
            )
        case CompressionCode.SZIP:
            _, line, mask, bits, block = numbers
            if not (2 <= block <= 32 and 1 <= bits <= 64 and 1 <= line <= 4096):
                raise CorruptFile(0, f"szip with blocks of {block}, {bits} bits, lines of {line}")
            return CodecSpec(
                "byteatlas.hdf4-szip",
                {
                    "options_mask": mask & OPTIONS_SZIP, "pixels_per_block": block, "bits_per_pixel": bits,
                    "pixels_per_scanline": line, "preamble": bool(mask & REVISED_SZIP),
                },
            )  # fmt: skip
        case coder:
            raise Unsupported(Reason.COMPRESSION, f"compression {coder} is not supported")


def place_element(
    element: Element | None, wanted: Wanted, source: SourceInfo, options: ScanOptions
) -> Parse[ElementPlacement]:
    """An array whose element is not chunked. Raises `CorruptFile`, `Unsupported`."""
    shape, need = wanted.shape, wanted.nbytes
    if need > MOST_BYTES or len(shape) > 64:
        raise CorruptFile(0, f"a dataset of shape {shape}")
    encoding = Encoding((wanted.serializer,))
    if not need or element is None or element.length <= 0:
        chunk = whole(shape)
        return ElementPlacement(chunk, (encoding,), empty_manifest(grid_of(shape, chunk)))
    if element.length < need + wanted.skip:
        raise CorruptFile(0, f"{element.length} bytes of data where {need + wanted.skip} are needed")
    match element:
        case PlainElement(offset, _):
            block = contiguous(shape, wanted.itemsize, offset + wanted.skip, source, options.target_chunk)
            tail = () if block.tail is None else (Encoding((wanted.serializer,), chunk_shape=block.tail),)
            return ElementPlacement(block.chunk_shape, (encoding, *tail), block.manifest)
        case LinkedElement() | ExternalElement():
            parts = yield from stored_ranges(element, wanted.skip, need, source)
            return ElementPlacement(whole(shape), (encoding,), parts.manifest((1,) * len(shape)))
        case CompressedElement(length, compression, inner):
            if inner is None:
                chunk = whole(shape)
                return ElementPlacement(chunk, (encoding,), empty_manifest(grid_of(shape, chunk)))
            if length != need or wanted.skip:
                raise Unsupported(Reason.LAYOUT, f"{length} compressed bytes for an array of {need}")
            codec = compression_codec(compression, wanted.itemsize)
            chain = (wanted.serializer,) if codec is None else (wanted.serializer, codec)
            parts = yield from stored_ranges(inner, 0, inner.length, source)
            return ElementPlacement(whole(shape), (Encoding(chain),), parts.manifest((1,) * len(shape)))
        case _:
            raise Unsupported(Reason.LAYOUT, "a chunked element where none is expected")


@dataclass(frozen=True, slots=True, eq=False)
class ElementRanges:
    """ElementRanges that follow each other in an element."""

    files: tuple[SourceInfo, ...]
    source: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]

    @property
    def single(self) -> bool:
        return len(self.source) == 1 and int(self.source[0]) != CONSTANT

    def manifest(self, grid: Shape) -> ChunkManifest:
        """The manifest of a single chunk."""
        if self.single:
            offset, length = self.offset.astype(np.uint64), self.length.astype(np.uint64)
            return ChunkManifest(grid, self.files, self.source, offset, length)
        chunk = np.zeros(len(self.source), np.int64)
        zeros = int(self.length[self.source == CONSTANT].max(initial=0))
        return joined_chunks(grid, self.files, chunk, self.source, self.offset, self.length, bytes(zeros))


def stored_ranges(element: StoredElement, skip: int, need: int, source: SourceInfo) -> Parse[ElementRanges]:
    """The ranges of ``need`` bytes of an element. Raises `CorruptFile`, and what an external file's absence is."""
    match element:
        case PlainElement(offset, _):
            return _single(source, offset + skip, need)
        case ExternalElement(_, offset, path):
            found = yield from stat(path)
            if found is None:
                raise Unsupported(Reason.EXTERNAL_STORAGE, f"the file {path!r} that holds the data is not there")
            if found.size is not None and offset + skip + need > found.size:
                raise CorruptFile(offset, f"the file {path!r} has {found.size} bytes, not {offset + skip + need}")
            return _single(found, offset + skip, need)
        case LinkedElement(_, offsets, lengths):
            return _cut(source, offsets, lengths, skip, need)


def _single(source: SourceInfo, offset: int, length: int) -> ElementRanges:
    return ElementRanges((source,), np.zeros(1, np.int32), np.array([offset], np.int64), np.array([length], np.int64))


def _cut(
    source: SourceInfo, offsets: NDArray[np.int64], lengths: NDArray[np.int64], skip: int, need: int
) -> ElementRanges:
    """Blocks without what lies before and behind the wanted bytes; neighbours are joined."""
    ends = np.cumsum(lengths)
    begins = ends - lengths
    first, last = np.maximum(begins, skip), np.minimum(ends, skip + need)
    kept = last > first
    offset = np.where(offsets == ZEROS, ZEROS, offsets + first - begins)[kept]
    length = (last - first)[kept]
    zeros = offset == ZEROS
    joins = np.zeros(len(offset), np.bool_)
    joins[1:] = (offset[1:] == offset[:-1] + length[:-1]) & ~zeros[1:] & ~zeros[:-1]
    starts = np.flatnonzero(~joins)
    total = np.add.reduceat(length, starts) if len(starts) else length
    number = np.where(zeros[starts], CONSTANT, 0).astype(np.int32)
    return ElementRanges((source,), number, np.where(zeros[starts], 0, offset[starts]), total)
