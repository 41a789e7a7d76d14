"""Members of configurations that only encoders use: other values of them decode every chunk alike."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.codecs.core.table import BUILTIN
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.types import JSON

OTHER: Mapping[str, tuple[Mapping[str, JSON], Mapping[str, JSON]]] = {
    "gzip": ({"level": 1}, {"level": 9}),
    "zstd": ({"level": 1, "checksum": False}, {"level": 9, "checksum": True}),
    "blosc": (
        {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 4, "blocksize": 0},
        {"cname": "zstd", "clevel": 9, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 256},
    ),
    "bitround": ({"keepbits": 20}, {"keepbits": 12}),
    "numcodecs.bitround": ({"keepbits": 20}, {"keepbits": 12}),
    "numcodecs.quantize": ({"digits": 9}, {"digits": 3}),
    "numcodecs.zlib": ({"level": 1}, {"level": 9}),
    "numcodecs.gzip": ({"level": 1}, {"level": 9}),
    "numcodecs.zstd": ({"level": 1, "checksum": True}, {"level": 9}),
    "numcodecs.blosc": (
        {"cname": "lz4", "clevel": 1, "shuffle": 0, "blocksize": 0},
        {"cname": "zlib", "clevel": 9, "shuffle": 2, "blocksize": 512, "typesize": 4},
    ),
    "numcodecs.bz2": ({"level": 1}, {"level": 9}),
    "numcodecs.lzma": ({"preset": 1, "check": 0}, {"preset": 6, "check": 1}),
    "numcodecs.lz4": ({"acceleration": 1}, {"acceleration": 9}),
    "numcodecs.pcodec": ({"level": 1}, {"level": 9, "mode_spec": "classic", "equal_pages_up_to": 1000}),
    "numcodecs.zfpy": ({"mode": 3, "precision": 64}, {"mode": 4, "tolerance": 0.5, "rate": -1}),
    "numcodecs.json2": ({"ensure_ascii": True, "sort_keys": True}, {"ensure_ascii": False, "separators": [",", ":"]}),
    "numcodecs.msgpack2": ({"use_bin_type": True}, {"use_bin_type": False, "use_single_float": True}),
    "numcodecs.imagecodecs_deflate": ({"level": 1}, {"level": 9}),
    "numcodecs.imagecodecs_zlib": ({"level": 1}, {"level": 9}),
    "numcodecs.imagecodecs_zstd": ({"level": 1}, {"level": 9}),
    "numcodecs.imagecodecs_lzma": ({"level": 1}, {"level": 9, "check": 1}),
    "numcodecs.imagecodecs_lz4h5": ({"level": 1}, {"level": 9, "blocksize": 64}),
    "numcodecs.imagecodecs_brotli": ({"level": 1}, {"level": 9, "lgwin": 20}),
    "imagecodecs_blosc2": ({"level": 1, "shuffle": 0}, {"level": 9, "shuffle": 1, "typesize": 4}),
}
SERIALIZERS = ("numcodecs.json2", "numcodecs.msgpack2", "numcodecs.zfpy", "numcodecs.pcodec")


def pipeline(name: str, configuration: Mapping[str, JSON]) -> Any:
    codec = CodecSpec(name, configuration)
    before = () if name in SERIALIZERS else (CodecSpec("bytes", {"endian": "little"}),)
    return build_pipeline(Encoding((*before, codec)), from_numpy(np.dtype(np.float32)), (8, 16), 0.0)


@pytest.mark.parametrize("name", OTHER)
def test_what_only_the_encoder_uses_does_not_change_what_is_decoded(name: str) -> None:
    first, second = OTHER[name]
    assert set(first) | set(second) <= decoding_ignores(name)
    array = (np.arange(128, dtype=np.float32) / 8).reshape(8, 16)
    for wrote, reads in ((first, second), (second, first)):
        data = pipeline(name, wrote).encode(array)
        mine, other = pipeline(name, wrote).decode(data), pipeline(name, reads).decode(data)
        assert np.array_equal(mine, other)
        assert np.array_equal(mine, array) or name == "numcodecs.zfpy"


def test_what_decoding_needs_is_not_ignored() -> None:
    assert "raw" not in decoding_ignores("numcodecs.imagecodecs_deflate")
    assert not decoding_ignores("numcodecs.lzma") & {"format", "filters"}
    assert "encoding" not in decoding_ignores("numcodecs.json2")
    assert "fp2int" not in decoding_ignores("numcodecs.imagecodecs_jpegxr")
    assert decoding_ignores("numcodecs.shuffle") == frozenset()
    assert decoding_ignores("somebody.elses") == frozenset()


def test_both_names_of_an_image_codec_ignore_the_same() -> None:
    for name in ("png", "webp", "qoi", "brotli", "lz4h5"):
        assert decoding_ignores(f"imagecodecs_{name}") == decoding_ignores(f"numcodecs.imagecodecs_{name}")


def test_every_row_that_ignores_something_is_tried_here_or_is_an_image() -> None:
    images = {f"numcodecs.imagecodecs_{n}" for n in ("jpeg2k", "jpegxl", "jpegxr", "jpegls", "png", "webp", "lerc")}
    assert {name for name, row in BUILTIN.items() if row.encoding_only} == {n for n in OTHER if n in BUILTIN} | images
