"""Filtered blocks that a scan must look into: heaps with filters, chunks of variable-length elements.

Their filters become codecs as those of any chunk do, and the driver decodes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from byteatlas.errors import CorruptChunk, CorruptFile, FileFault
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import Decode, Parse
from byteatlas.scanning.parsers import settle
from byteatlas.types import Buffer, Shape
from byteatlas_scanners.hdf5.filters.message import FilterPipeline
from byteatlas_scanners.hdf5.filters.registry import codecs
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass

RAW_BYTES = Datatype(DatatypeClass.OPAQUE, 1)


class Filtered(NamedTuple):
    """A block as it is stored.

    Attributes:
        mask: filters that it did not go through, as bits.
        size: bytes before filters.
        at: its place in the file, for messages.
    """

    mask: int
    data: Buffer
    size: int
    at: int


def unfiltered(
    pipeline: FilterPipeline, blocks: Sequence[Filtered], dt: Datatype = RAW_BYTES, chunk: Shape = ()
) -> Parse[list[Buffer]]:
    """The bytes of blocks before filters, all decoded together. Raises `Unsupported` and `CorruptFile`."""
    chains: dict[int, tuple[CodecSpec, ...]] = {}
    for block in blocks:
        if block.mask not in chains:
            chains[block.mask] = codecs(pipeline, block.mask, dt, chunk)
    out: list[Buffer] = []
    for block, found in zip(
        blocks, (yield from settle([Decode(chains[b.mask], b.data, b.size) for b in blocks])), strict=True
    ):
        if isinstance(found, CorruptChunk):
            raise CorruptFile(block.at, f"a filtered block: {found.why}") from found
        if isinstance(found, FileFault):
            raise found
        out.append(found)
    return out
