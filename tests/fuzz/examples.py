"""A chain, an array and sound chunks for every codec there is, so that a new codec is damaged the day it is added."""

from __future__ import annotations

import contextlib
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
from tests.places import ROOT

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.codecs.core.imagecodecs_table import IMAGES, PLAIN
from byteatlas.codecs.core.table import BUILTIN
from byteatlas.errors import ByteatlasError
from byteatlas.meta.dtypes import OBJECT, STRING, from_numpy, from_v3
from byteatlas.meta.model import CodecSpec, DataType, Encoding

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ALL = sorted({*BUILTIN, *(f"imagecodecs_{name}" for name in (*IMAGES, *PLAIN))})
"""Every codec by name; those of imagecodecs that have no row of their own too."""
NOT_BUILT = sorted(
    f"imagecodecs_{name}"
    for name in (*IMAGES, *PLAIN)
    if not getattr(getattr(imagecodecs, name.upper(), None), "available", False)
)

CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "transpose": {"order": [1, 0]},
    "reshape": {"shape": [-1]},
    "conditional": {"codecs": ["gzip"]},
    "n5_default": {"codecs": [LITTLE]},
    "sharding_indexed": {
        "chunk_shape": [8, 8],
        "codecs": [LITTLE, "gzip"],
        "index_codecs": [LITTLE, "crc32c"],
    },
    "zfp": {"mode": "reversible"},
    "cast_value": {"data_type": "int16"},
    "scale_offset": {"scale": 2, "offset": 1},
    "zarrs.vlen": {"index_codecs": [LITTLE], "data_codecs": ["bytes"]},
    "zarrs.optional": {"mask_codecs": ["packbits"], "data_codecs": [LITTLE]},
    "vlen-array": {"dtype": "<i4"},
    "numcodecs.vlen-array": {"dtype": "<i4"},
    "numcodecs.categorize": {"labels": ["a", "b"]},
    "bitround": {"keepbits": 4},
    "byteatlas.bytes": {"dtype": ">i4"},
    "byteatlas.unpack": {"data_type": "int16", "scale_factor": 0.5},
    "byteatlas.constant": {"value": "00000000"},
    "byteatlas.crop": {"origin": [2, 2], "shape": [20, 20]},
    "byteatlas.hdf5-nbit": {"values": [8, 0, 256, 1, 4, 0, 12, 3]},
    "byteatlas.hdf5-scaleoffset": {
        "class": "integer",
        "size": 4,
        "signed": True,
        "order": "<",
        "count": 256,
        "scale": 0,
    },
    "byteatlas.hdf5-bitshuffle": {"itemsize": 4, "compressor": "lz4"},
    "byteatlas.hdf5-plugin": {"filter": "sz3", "values": [2, 0, 16, 16, 0, 1062232653, 3539053052, 0, 0, 0, 0, 0, 0]},
    "byteatlas.hdf5-zfp": {"header": "7a6670053cf0000301c07fc2000000000000", "bits": 96},
    "numcodecs.imagecodecs_szip": {
        "options_mask": 141,
        "pixels_per_block": 16,
        "bits_per_pixel": 8,
        "pixels_per_scanline": 64,
        "header": True,
    },
    "numcodecs.szip": {"mask": 141, "pixels-per-block": 16},
    "numcodecs.imagecodecs_packints": {"dtype": "<u2", "bitspersample": 12, "runlen": 16},
    "numcodecs.fixedscaleoffset": {"scale": 10, "offset": 1, "dtype": "<i4", "astype": "<i2"},
    "numcodecs.delta": {"dtype": "<i4"},
    "numcodecs.astype": {"encode_dtype": "<i2", "decode_dtype": "<i4"},
    "numcodecs.bitround": {"keepbits": 4},
    "numcodecs.fill_hdf_strings": {"dtype": "<i4", "id_map": {}},
    "numcodecs.FITSAscii": {"indtypes": [["a", "S4"]], "outdtypes": [["a", "<i4"]]},
    "numcodecs.record_member": {"dtype": [["a", "<i4"], ["b", "<i4"]], "member": "a"},
    "numcodecs.FITSVarBintable": {"dt_in": [["a", ">i4", [2]]], "nrow": 256, "types": {"a": "i4"}},
    "numcodecs.imagecodecs_delta": {"shape": [16, 16], "dtype": "<i4"},
    "numcodecs.imagecodecs_floatpred": {"shape": [16, 16], "dtype": "<f4"},
    "byteatlas.tiff_complex_int": {"dtype": "<i2"},
    "byteatlas.tiff_float_planes": {"itemsize": 4, "row": 16, "stride": 1},
    "byteatlas.tiff_logluv": {"width": 16},
    "byteatlas.tiff_libtiff": {
        "output": "samples",
        "tags": [
            [256, 4, [16]],
            [257, 4, [16]],
            [258, 3, [8]],
            [259, 3, [32773]],
            [262, 3, [1]],
            [277, 3, [1]],
            [278, 4, [16]],
        ],
    },
    "imagecodecs_szip": {
        "options_mask": 141,
        "pixels_per_block": 16,
        "bits_per_pixel": 8,
        "pixels_per_scanline": 64,
        "header": True,
    },
    **{f"numcodecs.imagecodecs_ccitt{kind}": {"height": 16, "width": 16} for kind in ("rle", "fax3", "fax4")},
    "byteatlas.hdf5-elements": {"layout": "<i4"},
    "byteatlas.fits_ascii": {"stride": 8, "width": 6},
    "byteatlas.fits_column": {"stride": 8, "offset": 2, "dtype": ">i4"},
    "byteatlas.fits_heap": {"stride": 8, "heap": 2048, "dtype": ">i2"},
    "byteatlas.fits_tile": {"algorithm": "RICE_1"},
    "byteatlas.grib_grid": {"which": "latitude"},
    "byteatlas.hdf4-nbit": {"itemsize": 4, "start": 11, "length": 12},
    "byteatlas.hdf4-skphuff": {"skip": 4},
    "byteatlas.hdf4-szip": {
        "options_mask": 141,
        "pixels_per_block": 16,
        "bits_per_pixel": 8,
        "pixels_per_scanline": 64,
    },
    "numcodecs.quantize": {"digits": 2, "dtype": "<f4"},
}
"""What a codec cannot do without; others are tried with no configuration at all."""
TYPES: tuple[DataType, ...] = (
    *map(from_v3, ("int32", "uint8", "float32", "uint16", "bool", "float64", "complex64")),
    STRING,
    OBJECT,
    from_v3({"name": "zarrs.optional", "configuration": {"name": "int32"}}),
    from_numpy(np.dtype([("a", "<i4", (2,))])),
)
SHAPES = ((16, 16), (16, 16, 3), (256,))
SOUND_CHUNKS = Path(__file__).with_name("sound_chunks.json")
"""Chunks that others' encoders made (`make_sound_chunks`)."""
IMAGE_NAMES = frozenset(f"{before}imagecodecs_{name}" for name in IMAGES for before in ("", "numcodecs."))
WITHOUT_EXAMPLE = frozenset(
    (
        "byteatlas.crop",  # needs a codec behind it
        "byteatlas.fits_heap",
        "numcodecs.FITSAscii",
        "numcodecs.fill_hdf_strings",
        "numcodecs.zfpy",
        *(f"imagecodecs_{name}" for name in ("dds", "jpegsof3", "ultrahdr")),  # nobody here encodes them
        *NOT_BUILT,
    )
)
"""Codecs that are damaged without a sound chunk to begin with: noise only. No new one may join them."""


def example(kind: DataType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Values that compress somewhat."""
    values = np.arange(int(np.prod(shape))).reshape(shape) // 3 % 200
    if kind is STRING:
        return np.array(["a", "b"], object)[values % 2]
    if kind is OBJECT:
        out = np.empty(shape, object)
        for place in np.ndindex(shape):
            out[place] = [1, 2]
        return out
    return values.astype(object) if kind.numpy.hasobject else values.astype(kind.numpy)


def messages() -> list[bytes]:
    """Whole GRIB messages of both editions, small ones."""
    found = []
    for path in sorted((ROOT / "fixtures" / "grib").glob("*.grib*")):
        data = path.read_bytes()
        at = data.find(b"GRIB")
        while at >= 0:
            end = data.find(b"7777", at) + 4
            if end - at < 20_000:
                found.append(data[at:end])
            at = data.find(b"GRIB", max(end, at + 4))
    return found


def lossy(name: str, array: np.ndarray[Any, Any]) -> list[bytes]:
    """Chunks of formats that we only decode, by imagecodecs' encoder."""
    if "grib" in name:
        return messages()
    short = name.rpartition("imagecodecs_")[2]
    encode = getattr(imagecodecs, f"{short}_encode", None)
    if encode is None:
        return []
    with contextlib.suppress(Exception):
        return [bytes(encode(array))]
    return []


def plain(made: Pipeline, name: str) -> list[bytes]:
    """Chunks of codecs that only rearrange: bytes of the right number, whatever they are; of LZO one long literal."""
    if name in IMAGE_NAMES:
        return []
    size = made.nbytes or 256
    found = [bytes(range(256)) * (-(-count * size // 2048)) for count in (1, 2, 4, 8, 12, 16, 32)]
    found = [data[: count * size // 8] for count, data in zip((1, 2, 4, 8, 12, 16, 32), found, strict=True)]
    found += [bytes(200), b"\xff" * 200]
    literal = b"\0\xee" + bytes(256) + b"\x11\0\0"
    if name.endswith("lzo"):
        found = [b"\xf0" + (256).to_bytes(4, "big") + literal, literal]
    for data in found:
        with contextlib.suppress(ByteatlasError, Exception):
            made.decode(data)
            return [data]
    return []


@cache
def _made_by_others() -> Mapping[str, Any]:
    return json.loads(SOUND_CHUNKS.read_text()) if SOUND_CHUNKS.exists() else {}


def of_others(name: str) -> Iterator[tuple[Pipeline, list[bytes]]]:
    """Chains with the codec, as they are in files."""
    for entry in _made_by_others().get(name, ()):
        chain = tuple(CodecSpec(c["name"], c["configuration"]) for c in entry["codecs"])
        made = build_pipeline(Encoding(chain), from_numpy(np.dtype(entry["dtype"])), tuple(entry["shape"]), None)
        yield made, [b64decode(entry["data"])]


def pipelines(name: str) -> Iterator[tuple[Pipeline, list[bytes]]]:
    """Pipelines of several types and shapes that the codec can work in, each with sound chunks (perhaps none)."""
    yield from of_others(name)
    spec = CodecSpec(name, dict(CONFIGURATIONS.get(name, {})))
    little = CodecSpec("bytes", {"endian": "little"})
    for kind in TYPES:
        for shape in SHAPES:
            for chain in ((spec,), (little, spec), (spec, little)):
                try:
                    made = build_pipeline(Encoding(chain), kind, shape, None)
                except ByteatlasError:
                    continue
                array = example(kind, shape)
                seeds = []
                with contextlib.suppress(
                    ByteatlasError, TypeError, ValueError, Warning
                ):  # not every codec encodes every type
                    seeds.append(bytes(made.encode(array)))
                yield made, seeds or lossy(name, array) or plain(made, name)
                break
