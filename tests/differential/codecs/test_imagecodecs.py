"""imagecodecs' codecs: what we encode is read equal by imagecodecs' classes in zarr-python, and the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.imagecodecs_table import COMPRESSORS, ENCODERS, IMAGES
from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.store.directory import DirectoryStore

zarr = pytest.importorskip("zarr")
imagecodecs = pytest.importorskip("imagecodecs")
RNG = np.random.default_rng(5)
PIXELS: dict[str, NDArray[Any]] = {
    "gray8": RNG.integers(0, 256, (40, 30)).astype("u1"),
    "gray16": RNG.integers(0, 65536, (40, 30)).astype("u2"),
    "rgb8": RNG.integers(0, 256, (40, 30, 3)).astype("u1"),
    "rgb16": RNG.integers(0, 65536, (40, 30, 3)).astype("u2"),
    "f4": RNG.random((40, 30)).astype("f4"),
    "i4": RNG.integers(-(2**20), 2**20, (40, 30)).astype("i4"),
    "stack": RNG.integers(0, 256, (1, 40, 30, 3)).astype("u1"),
}
KEEPS = {
    "apng": {"gray8", "gray16", "rgb8", "rgb16", "stack"},
    "avif": {"gray8", "rgb8", "stack"},
    "bmp": {"gray8", "rgb8", "stack"},
    "htj2k": {"gray8", "gray16", "rgb8", "rgb16", "i4", "stack"},
    "jpeg2k": {"gray8", "gray16", "rgb8", "rgb16", "i4", "stack"},
    "jpegls": {"gray8", "gray16", "rgb8", "rgb16", "stack"},
    "jpegxl": {"gray8", "gray16", "rgb8", "rgb16", "f4", "stack"},
    "jpegxr": {"gray8", "gray16", "rgb8", "rgb16", "stack"},
    "lerc": {"gray8", "gray16", "rgb8", "rgb16", "f4", "i4", "stack"},
    "ljpeg": {"gray8", "gray16"},
    "png": {"gray8", "gray16", "rgb8", "rgb16", "stack"},
    "qoi": {"rgb8", "stack"},
    "spng": {"gray8", "rgb8", "stack"},
    "webp": {"rgb8", "stack"},
}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "szip": {
        "options_mask": 141,
        "pixels_per_block": 16,
        "bits_per_pixel": 16,
        "pixels_per_scanline": 128,
        "header": True,
    },
    "aec": {"bitspersample": 16},
    "bitshuffle": {"itemsize": 2},
    "brotli": {"level": 4},
    "lz4": {"level": 1, "header": True},
    "lz4f": {"contentchecksum": True},
    "lzf": {"header": True},
    "blosc": {"compressor": "zstd", "shuffle": 1},
}
NOT_BUILT = {name for name in (*ENCODERS, *COMPRESSORS) if not getattr(imagecodecs, name.upper()).available}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    imagecodecs.numcodecs = __import__("imagecodecs.numcodecs").numcodecs
    imagecodecs.numcodecs.register_codecs(verbose=False)


def test_the_lists_agree() -> None:
    assert set(KEEPS) == set(ENCODERS)


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - NOT_BUILT))
def test_images(name: str) -> None:
    kept = set()
    for kind, pixels in PIXELS.items():
        spec = CodecSpec(f"numcodecs.imagecodecs_{name}")
        chain = (CodecSpec("bytes", {"endian": "little"}), spec)
        pipelines = [build_pipeline(Encoding(chain), from_numpy(pixels.dtype), pixels.shape, None)]
        if name != "jpegls":  # version 3: in the place of "bytes"
            alone = Encoding((CodecSpec(f"imagecodecs_{name}"),))
            pipelines.append(build_pipeline(alone, from_numpy(pixels.dtype), pixels.shape, None))
        for pipeline in pipelines:
            try:
                data = bytes(pipeline.encode(pixels))
            except Unsupported:
                continue
            kept.add(kind)
            np.testing.assert_array_equal(pipeline.decode(data), pixels)
            codec = getattr(imagecodecs.numcodecs, name.capitalize())()
            np.testing.assert_array_equal(np.asarray(codec.decode(data)).reshape(pixels.shape), pixels)
            if name == "webp":
                codec = imagecodecs.numcodecs.Webp(lossless=True)
            np.testing.assert_array_equal(pipeline.decode(bytes(codec.encode(pixels))), pixels)
    assert kept >= KEEPS[name]  # newer libraries keep more


def test_what_would_lose_something_is_refused() -> None:
    pixels = PIXELS["rgb8"]
    for name, conf in (
        ("webp", {"level": 50, "lossless": False}),
        ("jpegls", {"level": 5}),
        ("jpegxl", {"lossless": False, "distance": 4}),
    ):
        chain = (CodecSpec("bytes"), CodecSpec(f"imagecodecs_{name}", conf))
        pipeline = build_pipeline(Encoding(chain), from_numpy(pixels.dtype), pixels.shape, None)
        with pytest.raises(Unsupported, match="exactly"):
            pipeline.encode(pixels)
    for name in sorted(set(IMAGES) - set(ENCODERS) - NOT_BUILT):
        if not getattr(getattr(imagecodecs, name.upper(), None), "available", False):
            continue
        chain = (CodecSpec("bytes"), CodecSpec(f"imagecodecs_{name}"))
        with pytest.raises(Unsupported, match="only decodes"):
            build_pipeline(Encoding(chain), from_numpy(pixels.dtype), pixels.shape, None).encode(pixels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(COMPRESSORS) - NOT_BUILT - {"gzip"}))  # it has no class for gzip
def test_compressors(name: str, tmp_path: Path) -> None:
    values = (np.arange(128 * 30, dtype="u2") % 999).reshape(128, 30)
    conf = CONFIGURATIONS.get(name, {})
    codec = CodecSpec(f"numcodecs.imagecodecs_{name}", conf)
    meta = array_meta(values.shape, "u2", chunks=(64, 30), compression=(codec,), zarr_format=2)
    create_array(DirectoryStore(tmp_path / "ours", writable=True), "", meta)[...] = values
    if name != "bitshuffle":  # its class ignores `itemsize` for what zarr-python gives it: it cannot read its own
        assert (tmp_path / "ours" / "0.0").stat().st_size < values.nbytes // 2
        np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "ours"), mode="r")[...], values)
    theirs = zarr.create_array(
        str(tmp_path / "theirs"),
        shape=values.shape,
        chunks=(64, 30),
        dtype="u2",
        compressors=getattr(imagecodecs.numcodecs, name.capitalize())(**conf),
        zarr_format=2,
    )
    theirs[...] = values
    for path in (tmp_path / "ours", tmp_path / "theirs"):
        array = ba.open(path)
        assert isinstance(array, ba.Array)
        np.testing.assert_array_equal(array[...], values)
    three = array_meta(values.shape, "u2", chunks=(64, 30), compression=(CodecSpec(f"imagecodecs_{name}", conf),))
    made = create_array(DirectoryStore(tmp_path / "three", writable=True), "", three)
    made[...] = values
    np.testing.assert_array_equal(made[...], values)


@pytest.mark.parametrize("name", sorted(set(COMPRESSORS) - NOT_BUILT))
def test_a_few_bytes(name: str) -> None:
    for nbytes in (1, 2, 3, 15, 16, 40):
        if name in ("aec", "szip") and nbytes % 2:
            continue  # samples of two bytes
        values = RNG.integers(0, 256, nbytes).astype("u1")
        conf = {**CONFIGURATIONS.get(name, {}), **({"itemsize": 1} if name == "bitshuffle" else {})}
        chain = (CodecSpec("bytes"), CodecSpec(f"imagecodecs_{name}", conf))
        pipeline = build_pipeline(Encoding(chain), from_numpy(values.dtype), values.shape, None)
        np.testing.assert_array_equal(pipeline.decode(pipeline.encode(values)), values)
