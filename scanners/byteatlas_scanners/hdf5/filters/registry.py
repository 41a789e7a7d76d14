"""One row per registered HDF5 filter: its number, its name, and the Zarr codecs that undo it.

Numbers are those of libhdf5 (1 to 6) and of the registry of filters that The HDF Group keeps. A filter whose
bytes another reader's codec understands carries that codec's name; the others are ``byteatlas.hdf5-*``. Rows without
codecs say why.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from byteatlas.errors import Unsupported
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.filters.message import Filter, FilterPipeline
from byteatlas_scanners.hdf5.format.types import Datatype

Codecs: TypeAlias = Callable[[Filter, Datatype, Shape], Iterable[CodecSpec]]

NUMCODECS, IMAGECODECS, OWN, QUANTISER = "numcodecs", "imagecodecs", "byteatlas", "quantiser"
"""Who decodes a filter's codec under the name that is written."""


@dataclass(frozen=True, slots=True)
class Row:
    """A filter.

    Attributes:
        codecs: its codecs; None when it is refused, for the reason in ``note``.
        decoder: who knows the codec by the name that is written.
        written: that name, for the documentation.
    """

    id: int
    name: str
    codecs: Codecs | None = None
    decoder: str = ""
    written: str = ""
    note: str = "no decoder"


def _bad(item: Filter, why: str) -> Unsupported:
    return Unsupported(Reason.FILTER, f"filter {item.id} ({item.name}) with {item.values}: {why}")


def _value(item: Filter, index: int, default: int = 0) -> int:
    return item.values[index] if index < len(item.values) else default


def _deflate(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("numcodecs.zlib", {"level": min(_value(item, 0, 6), 9)})]


def _shuffle(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    width = _value(item, 0)
    if width < 1:
        raise _bad(item, "no element size")
    return [CodecSpec("numcodecs.shuffle", {"elementsize": width})] if width > 1 else []


def _fletcher32(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("numcodecs.fletcher32")]


def _szip(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    if len(item.values) < 4:
        raise _bad(item, "four values are needed")
    mask, block, bits, line = item.values[:4]
    if not 1 <= bits <= 64 or not 2 <= block <= 32 or block % 2 or not block <= line <= 4096:
        raise _bad(item, "values that szip does not know")
    configuration: dict[str, JSON] = {
        "options_mask": mask, "pixels_per_block": block, "bits_per_pixel": bits, "pixels_per_scanline": line,
        "header": True,
    }  # fmt: skip
    return [CodecSpec("numcodecs.imagecodecs_szip", configuration)]


def _nbit(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    if len(item.values) < 5:
        raise _bad(item, "too few values")
    return [] if item.values[1] else [CodecSpec("byteatlas.hdf5-nbit", {"values": list(item.values)})]


def _scaleoffset(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    if len(item.values) < 8:
        raise _bad(item, "too few values")
    kind, scale, count, cls, size, sign, order, fill = item.values[:8]
    if kind not in (0, 2) or cls not in (0, 1) or size not in (1, 2, 4, 8) or (cls == 1 and (kind or size < 4)):
        raise _bad(item, "only integers, and floats scaled by powers of ten, are known")
    if max(sign, order, fill) > 1:  # libhdf5 compares each with 1; damage must not be read as another meaning
        raise _bad(item, "flags other than 0 and 1")
    digits = scale - (1 << 32) if scale >> 31 else scale
    configuration: dict[str, JSON] = {
        "class": ("integer", "float")[cls], "size": size, "signed": bool(sign), "order": "<>"[order],
        "count": count, "scale": digits,
    }  # fmt: skip
    if fill:
        words = item.values[8 : 8 + (2 if size == 8 else 1)]
        configuration["fill"] = struct.pack(f"<{len(words)}I", *words)[:size].hex()
    return [CodecSpec("byteatlas.hdf5-scaleoffset", configuration)]


def _lzf(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("numcodecs.imagecodecs_lzf", {"header": False})]


_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


def _blosc(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    name = _BLOSC[min(_value(item, 6, 0), len(_BLOSC) - 1)]
    configuration = {"cname": name, "clevel": min(_value(item, 4, 5), 9), "shuffle": min(_value(item, 5, 1), 2)}
    return [CodecSpec("numcodecs.blosc", {**configuration, "blocksize": 0})]


def _bzip2(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("numcodecs.bz2", {"level": max(1, min(_value(item, 0, 9), 9))})]


def _zstd(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    level = _value(item, 0, 3)
    return [CodecSpec("numcodecs.zstd", {"level": level if level <= 22 else 3})]


def _lz4(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("numcodecs.imagecodecs_lz4h5")]


def _bitshuffle(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    width, block, kind = _value(item, 2), _value(item, 3), _value(item, 4)
    if width < 1 or block % 8 or kind not in (0, 2, 3):
        raise _bad(item, "not a compression that bitshuffle knows")
    if not kind:
        return [CodecSpec("numcodecs.imagecodecs_bitshuffle", {"itemsize": width, "blocksize": block})]
    return [CodecSpec("byteatlas.hdf5-bitshuffle", {"itemsize": width, "compressor": {2: "lz4", 3: "zstd"}[kind]})]


def _zfp(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    words = item.values[1:]
    header = struct.pack(f"<{len(words)}I", *words)
    configuration: dict[str, JSON] = {"bits": 96 if len(words) <= 3 else 148}
    if header[:3] != b"zfp":  # written on a machine of the other byte order, and the values likewise
        header = struct.pack(f">{len(words)}I", *words)
        configuration["swap"] = dt.size
    if header[:3] != b"zfp" or 8 * len(header) < configuration["bits"]:
        raise _bad(item, "no zfp header")
    return [CodecSpec("byteatlas.hdf5-zfp", {"header": header.hex(), **configuration})]


def _blosc2(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    return [CodecSpec("byteatlas.hdf5-blosc2", {})]


def _jpegls(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    if dt.size not in (1, 2):
        raise _bad(item, f"elements of {dt.size} bytes")
    if len(item.values) > 1 and item.values[1] != 1:
        # The filter stores planes, decoders give pixels.
        raise _bad(item, f"images of {item.values[1]} components")
    return [CodecSpec("numcodecs.imagecodecs_jpegls")]


def _jpeg(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    if dt.size != 1 or len(item.values) < 4:
        raise _bad(item, "only bytes, with four values, are known")
    width, height, color = item.values[1:4]
    if width * height * (3 if color else 1) != math.prod(chunk):
        raise _bad(item, "an image that is not one chunk")
    return [CodecSpec("numcodecs.imagecodecs_jpeg")]


def _nothing(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
    """Quantisers: what they write needs no undoing."""
    return []


def _plugin(name: str) -> Codecs:
    """A filter that its own plugin undoes, with the values of the file."""

    def codecs(item: Filter, dt: Datatype, chunk: Shape) -> list[CodecSpec]:
        return [CodecSpec("byteatlas.hdf5-plugin", {"filter": name, "values": list(item.values)})]

    return codecs


_BITSHUFFLE = "`byteatlas.hdf5-bitshuffle`; without compression `numcodecs.imagecodecs_bitshuffle`"

ROWS = (
    Row(1, "deflate", _deflate, NUMCODECS, "`numcodecs.zlib`"),
    Row(2, "shuffle", _shuffle, NUMCODECS, "`numcodecs.shuffle`"),
    Row(3, "fletcher32", _fletcher32, NUMCODECS, "`numcodecs.fletcher32`"),
    Row(4, "szip", _szip, IMAGECODECS, "`numcodecs.imagecodecs_szip`"),
    Row(5, "nbit", _nbit, OWN, "`byteatlas.hdf5-nbit`"),
    Row(6, "scaleoffset", _scaleoffset, OWN, "`byteatlas.hdf5-scaleoffset`"),
    Row(305, "LZO", note="PyTables' framing is not documented"),
    Row(307, "BZIP2", _bzip2, NUMCODECS, "`numcodecs.bz2`"),
    Row(32000, "LZF", _lzf, IMAGECODECS, "`numcodecs.imagecodecs_lzf`"),
    Row(32001, "BLOSC", _blosc, NUMCODECS, "`numcodecs.blosc`"),
    Row(32002, "MAFISC"),
    Row(32003, "Snappy", note="the framing is not documented"),
    Row(32004, "LZ4", _lz4, IMAGECODECS, "`numcodecs.imagecodecs_lz4h5`"),
    Row(32005, "APAX"),
    Row(32006, "CBF"),
    Row(32007, "JPEG-XR", note="the framing is not documented"),
    Row(
        32008,
        "bitshuffle",
        _bitshuffle,
        OWN,
        _BITSHUFFLE,
    ),
    Row(32009, "SPDP"),
    Row(32010, "LPC-Rice"),
    Row(32011, "CCSDS-123"),
    Row(32012, "JPEG-LS", note="the framing is not documented"),
    Row(32013, "ZFP", _zfp, OWN, "`byteatlas.hdf5-zfp`"),
    Row(32014, "fpzip"),
    Row(32015, "Zstandard", _zstd, NUMCODECS, "`numcodecs.zstd`"),
    Row(32016, "B3D"),
    Row(32017, "SZ", _plugin("sz"), OWN, "`byteatlas.hdf5-plugin`"),
    Row(32018, "FCIDECOMP", _jpegls, IMAGECODECS, "`numcodecs.imagecodecs_jpegls`"),
    Row(32019, "JPEG", _jpeg, IMAGECODECS, "`numcodecs.imagecodecs_jpeg`"),
    Row(32020, "VBZ"),
    Row(32021, "FAPEC"),
    Row(32022, "BitGroom", _nothing, QUANTISER, "none"),
    Row(32023, "Granular BitRound", _nothing, QUANTISER, "none"),
    Row(32024, "SZ3", _plugin("sz3"), OWN, "`byteatlas.hdf5-plugin`"),
    Row(32025, "Delta-Rice"),
    Row(32026, "BLOSC2", _blosc2, OWN, "`byteatlas.hdf5-blosc2`"),
    Row(32027, "FLAC"),
    Row(32028, "SPERR", _plugin("sperr"), OWN, "`byteatlas.hdf5-plugin`"),
    Row(32029, "TERSE/PROLIX"),
    Row(32030, "FFMPEG"),
)

FILTERS: Mapping[int, Row] = {row.id: row for row in ROWS}


def codecs(pipeline: FilterPipeline, mask: int, dt: Datatype, chunk_shape: Shape) -> tuple[CodecSpec, ...]:
    """The bytes -> bytes codecs of a chunk with this filter mask, in encoding order.

    ``chunk_shape`` is the dataset's own (without the dimensions of an array datatype).
    Raises `Unsupported` (reason ``filter``) for a filter that cannot be undone.
    """
    chain: list[CodecSpec] = []
    for item in pipeline.applied(mask):
        row = FILTERS.get(item.id)
        if row is None:
            raise Unsupported(Reason.FILTER, f"filter {item.id} ({item.name or 'not a registered name'}) is not known")
        if row.codecs is None:
            raise Unsupported(Reason.FILTER, f"filter {item.id} ({row.name}): {row.note}")
        chain += row.codecs(item, dt, chunk_shape)
    return tuple(chain)
