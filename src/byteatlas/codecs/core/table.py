"""The table of built-in codecs. A row's module is imported when a codec is first used, so that rows cost nothing.

The name is Zarr v3's, or ``numcodecs.ID``. A row says where the codec's maker is (it takes the configuration), and
which members of the configuration only its encoder uses: decoders give the same array whatever these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from byteatlas.codecs.core import imagecodecs_table


class CodecRow(NamedTuple):
    """One codec: ``target`` is ``module:maker``, ``encoding_only`` are members that decoding ignores."""

    target: str
    encoding_only: frozenset[str] = frozenset()


def row(target: str, *encoding_only: str) -> CodecRow:
    """A row; ``target`` is a place within this package."""
    return CodecRow(f"byteatlas.codecs.{target}", frozenset(encoding_only))


BLOSC = ("cname", "clevel", "shuffle", "typesize", "blocksize")
LZMA = ("check", "preset")
"""``format`` and ``filters`` say how raw streams are read."""
PCODEC = ("level", "mode_spec", "delta_spec", "paging_spec", "delta_encoding_order", "equal_pages_up_to")
ZFPY = ("mode", "tolerance", "rate", "precision")
"""The header of each stream says them."""
JSON_DUMPS = ("skipkeys", "ensure_ascii", "check_circular", "allow_nan", "sort_keys", "indent", "separators")

CORE: Mapping[str, CodecRow] = {
    "bytes": row("zarr.raw:make_bytes"),
    "byteatlas.bytes": row("zarr.raw:make_stored"),
    "byteatlas.unpack": row("combined.unpack:make"),
    "byteatlas.constant": row("combined.constant:make"),
    "byteatlas.crop": row("combined.crop:make"),
    "transpose": row("zarr.axes:make_transpose"),
    "sharding_indexed": row("zarr.sharding:make"),
    "gzip": row("zarr.deflate:make_gzip", "level"),
    "zstd": row("zarr.zstd:make", "level", "checksum"),
    "blosc": row("zarr.blosc:make", *BLOSC),
    "crc32c": row("zarr.checksums:make_crc32c"),
    "vlen-utf8": row("zarr.vlen:make_utf8"),
    "vlen-bytes": row("zarr.vlen:make_bytes"),
    "vlen-array": row("numcodecs.objects:make_vlen_array"),
    "bitround": row("numcodecs.filters:make_bitround", "keepbits"),
    "scale_offset": row("zarr.scale_offset:make"),
    "cast_value": row("zarr.cast:make"),
    "packbits": row("zarr.packbits:make"),
    "reshape": row("zarr.axes:make_reshape"),
    "conditional": row("zarr.nested:make_conditional"),
    "n5_default": row("zarr.nested:make_n5"),
    "zfp": row("zarr.zfp:make"),
    "zarrs.squeeze": row("zarr.axes:make_squeeze"),
    "zarrs.vlen": row("zarr.zarrs:make_vlen"),
    "zarrs.vlen_v2": row("zarr.vlen:make_bytes"),
    "zarrs.optional": row("zarr.zarrs:make_optional"),
}

NUMCODECS: Mapping[str, CodecRow] = {
    "numcodecs.zlib": row("zarr.deflate:make_zlib", "level"),
    "numcodecs.gzip": row("zarr.deflate:make_gzip", "level"),
    "numcodecs.shuffle": row("numcodecs.shuffle:make"),
    "numcodecs.zstd": row("zarr.zstd:make", "level", "checksum"),
    "numcodecs.blosc": row("zarr.blosc:make", *BLOSC),
    "numcodecs.vlen-utf8": row("zarr.vlen:make_utf8"),
    "numcodecs.vlen-bytes": row("zarr.vlen:make_bytes"),
    "numcodecs.crc32c": row("zarr.checksums:make_crc32c"),
    "numcodecs.crc32": row("zarr.checksums:make_crc32"),
    "numcodecs.adler32": row("zarr.checksums:make_adler32"),
    "numcodecs.fletcher32": row("zarr.checksums:make_fletcher32"),
    "numcodecs.jenkins_lookup3": row("zarr.checksums:make_jenkins"),
    "numcodecs.bz2": row("numcodecs.legacy:make_bz2", "level"),
    "numcodecs.lzma": row("numcodecs.legacy:make_lzma", *LZMA),
    "numcodecs.lz4": row("numcodecs.legacy:make_lz4", "acceleration"),
    "numcodecs.base64": row("numcodecs.legacy:make_base64"),
    "numcodecs.delta": row("numcodecs.filters:make_delta"),
    "numcodecs.fixedscaleoffset": row("numcodecs.filters:make_fixedscaleoffset"),
    "numcodecs.quantize": row("numcodecs.filters:make_quantize", "digits"),
    "numcodecs.astype": row("numcodecs.filters:make_astype"),
    "numcodecs.bitround": row("numcodecs.filters:make_bitround", "keepbits"),
    "numcodecs.packbits": row("numcodecs.filters:make_packbits"),
    "numcodecs.vlen-array": row("numcodecs.objects:make_vlen_array"),
    "numcodecs.json2": row("numcodecs.listed:make_json", *JSON_DUMPS),
    "numcodecs.msgpack2": row("numcodecs.listed:make_msgpack", "use_single_float", "use_bin_type"),
    "numcodecs.categorize": row("numcodecs.objects:make_categorize"),
    "numcodecs.pcodec": row("numcodecs.pcodec:make", *PCODEC),
    "numcodecs.zfpy": row("zarr.zfp:make_zfpy", *ZFPY),
    "numcodecs.szip": row("numcodecs.images:make_szip"),
}

KERCHUNK: Mapping[str, CodecRow] = {
    "numcodecs.fill_hdf_strings": row("numcodecs.kerchunk:make_fill_strings"),
    "numcodecs.FITSAscii": row("numcodecs.kerchunk:make_fits_ascii"),
    "numcodecs.FITSVarBintable": row("numcodecs.kerchunk:make_fits_table"),
    "numcodecs.record_member": row("numcodecs.kerchunk:make_record_member"),
    "numcodecs.deflate": row("numcodecs.kerchunk:make_deflate"),
    "numcodecs.grib": row("grib.foreign:make_kerchunk"),
    "grib": row("grib.foreign:make_kerchunk"),
    "numcodecs.gribberish": row("grib.foreign:make_gribberish"),
    "gribberish": row("grib.foreign:make_gribberish"),
}

HDF5: Mapping[str, CodecRow] = {
    "byteatlas.hdf5-elements": row("hdf5.filters:make_elements"),
    "byteatlas.hdf5-nbit": row("hdf5.filters:make_nbit"),
    "byteatlas.hdf5-scaleoffset": row("hdf5.filters:make_scaleoffset"),
    "byteatlas.hdf5-bitshuffle": row("hdf5.filters:make_bitshuffle"),
    "byteatlas.hdf5-zfp": row("hdf5.filters:make_zfp"),
    "byteatlas.hdf5-blosc2": row("hdf5.filters:make_blosc2"),
    "byteatlas.hdf5-plugin": row("hdf5.plugins:make"),
    "numcodecs.imagecodecs_lzf": row("hdf5.compressors:make_lzf"),
    "numcodecs.imagecodecs_lz4h5": row("hdf5.compressors:make_lz4h5", *imagecodecs_table.encoding_only("lz4h5")),
    "numcodecs.imagecodecs_szip": row("hdf5.compressors:make_szip"),
    "numcodecs.imagecodecs_bitshuffle": row("hdf5.compressors:make_bitshuffle"),
    "numcodecs.imagecodecs_jpegls": row("hdf5.compressors:make_jpegls", *imagecodecs_table.encoding_only("jpegls")),
}

HDF4: Mapping[str, CodecRow] = {
    "byteatlas.hdf4-rle": row("hdf4.rle:make"),
    "byteatlas.hdf4-nbit": row("hdf4.nbit:make"),
    "byteatlas.hdf4-skphuff": row("hdf4.skphuff:make"),
    "byteatlas.hdf4-szip": row("hdf4.szip:make"),
}

TIFF: Mapping[str, CodecRow] = {
    "numcodecs.imagecodecs_lzw": row("tiff.compressions:make_lzw"),
    "numcodecs.imagecodecs_packbits": row("tiff.compressions:make_packbits"),
    "numcodecs.imagecodecs_lzma": row("tiff.compressions:make_lzma", "level", "check"),
    "numcodecs.imagecodecs_zstd": row("tiff.compressions:make_zstd", "level"),
    "numcodecs.imagecodecs_zlib": row("tiff.compressions:make_zlib", "level"),
    "numcodecs.imagecodecs_deflate": row("tiff.compressions:make_deflate", "level"),
    "numcodecs.imagecodecs_bitorder": row("tiff.predictors:make_bitorder"),
    "numcodecs.imagecodecs_delta": row("tiff.predictors:make_delta"),
    "numcodecs.imagecodecs_floatpred": row("tiff.predictors:make_floatpred"),
    "numcodecs.imagecodecs_packints": row("tiff.samples:make_packints"),
    "numcodecs.imagecodecs_float24": row("tiff.samples:make_float24"),
    "numcodecs.imagecodecs_ccittrle": row("tiff.fax:make_ccittrle"),
    "numcodecs.imagecodecs_ccittfax3": row("tiff.fax:make_ccittfax3"),
    "numcodecs.imagecodecs_ccittfax4": row("tiff.fax:make_ccittfax4"),
    "numcodecs.imagecodecs_jpeg": row("tiff.images:make_jpeg"),
    "numcodecs.imagecodecs_jpeg2k": row("tiff.images:make_jpeg2k", *imagecodecs_table.encoding_only("jpeg2k")),
    "numcodecs.imagecodecs_jpegxl": row("tiff.images:make_jpegxl", *imagecodecs_table.encoding_only("jpegxl")),
    "numcodecs.imagecodecs_jpegxr": row("tiff.images:make_jpegxr", *imagecodecs_table.encoding_only("jpegxr")),
    "numcodecs.imagecodecs_png": row("tiff.images:make_png", *imagecodecs_table.encoding_only("png")),
    "numcodecs.imagecodecs_webp": row("tiff.images:make_webp", *imagecodecs_table.encoding_only("webp")),
    "numcodecs.imagecodecs_lerc": row("tiff.images:make_lerc", *imagecodecs_table.encoding_only("lerc")),
    "byteatlas.tiff_complex_int": row("tiff.samples:make_complex_int"),
    "byteatlas.tiff_float_planes": row("tiff.samples:make_float_planes"),
    "byteatlas.tiff_logluv": row("tiff.logluv:make"),
    "byteatlas.tiff_libtiff": row("tiff.libtiff:make"),
}
"""What tiles and strips are compressed with; the names are those that imagecodecs gives to numcodecs."""

GRIB: Mapping[str, CodecRow] = {
    "byteatlas.grib1": row("grib.codec:make1"),
    "byteatlas.grib2": row("grib.codec:make2"),
    "byteatlas.grib_grid": row("grib.coordinates:make"),
}
"""Whole messages. The codecs of kerchunk and gribberish for the same are among kerchunk's."""

FITS: Mapping[str, CodecRow] = {
    "byteatlas.fits_unsigned": row("fits.unsigned:make"),
    "byteatlas.fits_column": row("fits.columns:make"),
    "byteatlas.fits_ascii": row("fits.text:make"),
    "byteatlas.fits_heap": row("fits.heap:make"),
    "byteatlas.fits_tile": row("fits.tiles:make"),
}
"""What tables and compressed images of FITS files consist of."""

BUILTIN: Mapping[str, CodecRow] = {**CORE, **NUMCODECS, **KERCHUNK, **HDF5, **HDF4, **TIFF, **GRIB, **FITS}

FAMILIES: Mapping[str, CodecRow] = {
    "numcodecs.imagecodecs_": row("numcodecs.images:make"),
    "imagecodecs_": row("numcodecs.images:make"),
}
"""Prefixes of names: a maker there takes the name and the configuration."""

REFUSED: Mapping[str, str] = {
    "numcodecs.pickle": "unpickling runs code that the data bring along",
    "numcodecs.json": "the first version of numcodecs' JSON codec lost the shape of arrays; it was withdrawn",
    "numcodecs.msgpack": "the first version of numcodecs' MessagePack codec lost the shape of arrays; it was withdrawn",
    "zarrs.gdeflate": "no decoder of GDeflate streams is at hand",
}
"""Codecs that are known and never decoded, with the reason."""
