"""Between versions 2 and 3 of the format, without touching a chunk.

The chunks' bytes stay as they are: only what describes them changes. What one version cannot say is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes, fill, v2
from byteatlas.meta.attributes import FILL
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, DataType, Encoding, GroupMeta, NodeMeta
from byteatlas.types import JSON, ByteOrder
from byteatlas.values import replace

SHUFFLES = {0: "noshuffle", 1: "shuffle", 2: "bitshuffle"}
ARRAY_FILTERS = frozenset(("delta", "fixedscaleoffset", "quantize", "astype", "bitround", "packbits"))
"""numcodecs' filters that take arrays in version 3 and bytes in version 2."""


def convert(node: NodeMeta, zarr_format: Literal[2, 3], *, keys: ChunkKeys | None = None) -> NodeMeta:
    """The node as one of this version. ``keys`` are the keys that its chunks will have (default: those they have).

    Raises `Unsupported` (reason ``zarr-v2``, ``zarr-v3``) for what the version cannot express.
    """
    if isinstance(node, GroupMeta):
        return replace(node, zarr_format=zarr_format)
    if zarr_format == 3:
        return to_v3(node, keys=keys)
    return to_v2(node, keys=keys)


def to_v3(meta: ArrayMeta, *, keys: ChunkKeys | None = None) -> ArrayMeta:
    """Names of version 3 where it has them, ``numcodecs.*`` elsewhere; ``null`` fill values become zero."""
    encodings = tuple(replace(e, codecs=_v3_chain(e.codecs, e.data_type or meta.data_type)) for e in meta.encodings)
    value = fill.default(meta.data_type) if meta.fill_value is None else meta.fill_value
    return replace(meta, encodings=encodings, fill_value=value, keys=keys or meta.keys, zarr_format=3)


def _v3_chain(codecs: tuple[CodecSpec, ...], data_type: DataType) -> tuple[CodecSpec, ...]:
    named = [_v3_codec(c, data_type) for c in codecs]
    at = next((i for i, c in enumerate(named) if c.name == "bytes"), None)
    if at is None or data_type.numpy.hasobject:
        return tuple(named)
    order: ByteOrder = ">" if named[at].configuration.get("endian") == "big" else "<"
    stored = data_type.numpy.newbyteorder(order)
    # Filters of version 2 see the stored bytes; in version 3 they come before `bytes`, which then writes their output.
    while at + 1 < len(named) and (moved := _as_array_filter(named[at + 1], stored)) is not None:
        named[at], named[at + 1] = named[at + 1], v2.bytes_codec(moved)
        stored, at = moved, at + 1
    return tuple(named)


def _as_array_filter(codec: CodecSpec, stored: np.dtype[np.generic]) -> np.dtype[np.generic] | None:
    """What an array filter makes of elements stored as this dtype; None when it cannot be one."""
    short = codec.name.removeprefix("numcodecs.")
    if not codec.name.startswith("numcodecs.") or short not in ARRAY_FILTERS:
        return None
    if short == "bitround":
        return stored
    if short == "packbits":
        return np.dtype("u1")
    decoded, encoded = ("decode_dtype", "encode_dtype") if short == "astype" else ("dtype", "astype")
    before = codec.configuration.get(decoded)
    after = codec.configuration.get(encoded, before)
    if not isinstance(before, str) or not isinstance(after, str) or dtypes.numpy_v2(before) != stored:
        return None
    return dtypes.numpy_v2(after)


def _v3_codec(codec: CodecSpec, data_type: DataType) -> CodecSpec:
    known = codec.configuration
    match codec.name:
        case "numcodecs.gzip":
            return CodecSpec("gzip", {"level": known.get("level", 1)})
        case "numcodecs.zstd":
            return CodecSpec("zstd", {"level": known.get("level", 0), "checksum": bool(known.get("checksum", False))})
        case "numcodecs.blosc":
            return _v3_blosc(known, data_type)
        case "numcodecs.crc32c" if known.get("location", "end") == "end":
            return CodecSpec("crc32c")
    return codec


def _v3_blosc(known: Mapping[str, JSON], data_type: DataType) -> CodecSpec:
    typesize = 1 if data_type.numpy.hasobject else data_type.numpy.itemsize
    shuffle = known.get("shuffle", 1)
    if shuffle in (-1, "auto"):
        shuffle = 2 if typesize == 1 else 1
    names = {"NONE": "noshuffle", "BYTE": "shuffle", "BIT": "bitshuffle"}
    name = names.get(shuffle, shuffle) if isinstance(shuffle, str) else SHUFFLES[shuffle]
    configuration = {
        "cname": known.get("cname", "lz4"),
        "clevel": known.get("clevel", 5),
        "shuffle": name,
        "typesize": min(max(typesize, 1), 255),
        "blocksize": known.get("blocksize", 0),
    }
    return CodecSpec("blosc", configuration)


def to_v2(meta: ArrayMeta, *, keys: ChunkKeys | None = None) -> ArrayMeta:
    """The array as version 2 has it; raises `Unsupported` when `v2.dump_array` could not write it."""
    if len(meta.encodings) != 1:
        raise Unsupported("zarr-v2", "Zarr v2 cannot express chunks that are stored in different ways")
    codecs = _v2_chain(meta.encodings[0].codecs)
    value = meta.fill_value
    if FILL in meta.attributes and fill.same(value, fill.default(meta.data_type), meta.data_type):
        # xarray takes the fill value of version 2 for the mask, in the place of the attribute. ``null`` reads alike.
        value = None
    made = replace(meta, encodings=(Encoding(codecs),), fill_value=value, keys=keys or meta.keys, zarr_format=2)
    kept = replace(made, encodings=(replace(meta.encodings[0], codecs=codecs),))
    v2.dump_array(kept)
    return kept


def _v2_chain(codecs: tuple[CodecSpec, ...]) -> tuple[CodecSpec, ...]:
    """Array filters moved behind ``bytes``, whose byte order must then be that of the filter's decoded type."""
    out = [CodecSpec("numcodecs.bitround", c.configuration) if c.name == "bitround" else c for c in codecs]
    at = next((i for i, c in enumerate(out) if c.name == "bytes"), None)
    if at is None:
        return tuple(out)
    moved: list[CodecSpec] = []
    head = out[at]
    while at > 0 and out[at - 1].name.removeprefix("numcodecs.") in ARRAY_FILTERS:
        codec = out.pop(at - 1)
        at -= 1
        moved.insert(0, codec)
        key = "decode_dtype" if codec.name == "numcodecs.astype" else "dtype"
        given = codec.configuration.get(key)
        if codec.name == "numcodecs.packbits":
            head = CodecSpec("bytes")
        elif isinstance(given, str):
            written = codec.configuration.get("encode_dtype" if key == "decode_dtype" else "astype", given)
            if v2.bytes_codec(dtypes.numpy_v2(str(written))) != head:
                raise Unsupported("zarr-v2", f"Zarr v2 cannot express {codec.name} in another byte order than its own")
            head = v2.bytes_codec(dtypes.numpy_v2(given))
    return (*out[:at], head, *moved, *out[at + 1 :])
