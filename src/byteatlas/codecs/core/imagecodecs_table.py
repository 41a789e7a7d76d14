"""imagecodecs' codecs, by the names that imagecodecs gives them in numcodecs (without ``imagecodecs_``): data only.

Those of TIFF and HDF5 have rows of their own in the table of codecs, and their encoders are here.
"""

from __future__ import annotations

from collections.abc import Mapping

IMAGES = (
    "apng", "avif", "bmp", "dds", "exr", "gif", "heif", "htj2k", "jpegls", "jpegsof3", "jpegxr", "jpegxs", "ljpeg",
    "mozjpeg", "png", "qoi", "rgbe", "spng", "ultrahdr", "webp", "jpeg8",
)  # fmt: skip
KEPT = frozenset(("jpeg", "jpeg8", "jpegls", "mozjpeg", "png", "spng", "apng", "webp", "gif", "bmp", "qoi"))
"""Image decoders whose process decodes many chunks, one after the other.

All image decoders above run in a child process: damaged data make some of them hang (jpeg8, jpegls, htj2k), divide by
zero (htj2k), write beyond their memory (ljpeg), read where nothing is (ultrahdr), or allocate whatever a header says.
The process of the others decodes one chunk only, because damage that was not noticed may have spoiled its memory.
"""

PLAIN: Mapping[str, tuple[str, ...]] = {
    "aec": ("bitspersample", "flags", "blocksize", "rsi"),
    "bitshuffle": ("itemsize", "blocksize"),
    "blosc": (),
    "blosc2": (),
    "brotli": (),
    "bz2": (),
    "gzip": (),
    "lz4": ("header",),
    "lz4f": (),
    "lz4h5": (),
    "lzf": ("header",),
    "lzfse": (),
    "lzo": ("header",),
    "snappy": (),
    "szip": ("options_mask", "pixels_per_block", "bits_per_pixel", "pixels_per_scanline", "header"),
    "zlibng": (),
}
"""Compressors of bytes, and the members of the configuration that decoding needs."""

ENCODERS: Mapping[str, tuple[str, ...]] = {
    "apng": ("level", "strategy", "filter", "photometric", "delay"),
    "avif": ("level", "speed", "bitspersample", "pixelformat", "codec", "primaries", "transfer", "matrix"),
    "bmp": ("ppm",),
    "htj2k": ("level", "rgb", "planar", "resolutions", "reversible", "tlm", "tilepart"),
    "jpeg2k": ("level", "codecformat", "colorspace", "planar", "reversible", "bitspersample", "resolutions", "mct"),
    "jpegls": ("level",),
    "jpegxl": ("level", "effort", "distance", "lossless", "decodingspeed", "photometric", "planar", "usecontainer"),
    "jpegxr": ("level", "photometric", "hasalpha", "resolution"),
    "lerc": ("level", "version", "planar", "compression"),
    "ljpeg": ("bitspersample",),
    "png": ("level", "strategy", "filter"),
    "qoi": (),
    "spng": ("level",),
    "webp": ("level", "lossless", "method"),
}
"""Image formats that can hold some arrays without loss, and the members of the configuration that encoding takes."""
COMPRESSORS: Mapping[str, tuple[str, ...]] = {
    "aec": (),
    "bitshuffle": (),
    "blosc": ("level", "compressor", "shuffle", "typesize", "blocksize"),
    "blosc2": ("level", "compressor", "shuffle", "splitmode", "typesize", "blocksize"),
    "brotli": ("level", "mode", "lgwin"),
    "bz2": ("level",),
    "gzip": ("level",),
    "lz4": ("level", "hc"),
    "lz4f": ("level", "blocksizeid", "contentchecksum", "blockchecksum"),
    "lz4h5": ("level", "blocksize"),
    "lzf": (),
    "lzfse": (),
    "snappy": (),
    "szip": (),
    "zlibng": ("level",),
}
"""Compressors of bytes that can compress, and what that takes besides the members that decoding needs too."""


def encoding_only(name: str) -> frozenset[str]:
    """Members of a codec's configuration that only its encoder uses; none for a codec that is not here.

    ``planar`` is not one of them, because decoders of JPEG 2000 take it too.
    """
    return frozenset((*ENCODERS.get(name, ()), *COMPRESSORS.get(name, ()))) - {"planar"}
