"""The table of built-in codecs: name -> where its maker is. A row's module is imported when a codec is first used.

The name is Zarr v3's, or ``numcodecs.ID``; a maker takes the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "byteatlas.codecs"


CORE: Mapping[str, str] = {
    "bytes": f"{_HERE}.raw:make_bytes",
    "byteatlas.bytes": f"{_HERE}.raw:make_stored",
    "byteatlas.unpack": f"{_HERE}.combine_unpack:make",
    "byteatlas.constant": f"{_HERE}.combine_constant:make",
    "byteatlas.crop": f"{_HERE}.combine_crop:make",
    "transpose": f"{_HERE}.transpose:make",
    "sharding_indexed": f"{_HERE}.sharding:make",
    "gzip": f"{_HERE}.deflate:make_gzip",
    "zstd": f"{_HERE}.zstd:make",
    "blosc": f"{_HERE}.blosc:make",
    "crc32c": f"{_HERE}.checksums:make_crc32c",
    "vlen-utf8": f"{_HERE}.vlen:make_utf8",
    "vlen-bytes": f"{_HERE}.vlen:make_bytes",
    "vlen-array": f"{_HERE}.objects:make_vlen_array",
    "bitround": f"{_HERE}.filters:make_bitround",
    "scale_offset": f"{_HERE}.cast:make_scale_offset",
    "cast_value": f"{_HERE}.cast:make_cast_value",
    "packbits": f"{_HERE}.packbits:make",
    "reshape": f"{_HERE}.shape:make_reshape",
    "conditional": f"{_HERE}.nested:make_conditional",
    "n5_default": f"{_HERE}.nested:make_n5",
    "zfp": f"{_HERE}.zfp:make",
    "zarrs.squeeze": f"{_HERE}.shape:make_squeeze",
    "zarrs.vlen": f"{_HERE}.zarrs:make_vlen",
    "zarrs.vlen_v2": f"{_HERE}.vlen:make_bytes",
    "zarrs.optional": f"{_HERE}.zarrs:make_optional",
}

NUMCODECS: Mapping[str, str] = {
    "numcodecs.zlib": f"{_HERE}.deflate:make_zlib",
    "numcodecs.gzip": f"{_HERE}.deflate:make_gzip",
    "numcodecs.shuffle": f"{_HERE}.shuffle:make",
    "numcodecs.zstd": f"{_HERE}.zstd:make",
    "numcodecs.blosc": f"{_HERE}.blosc:make",
    "numcodecs.vlen-utf8": f"{_HERE}.vlen:make_utf8",
    "numcodecs.vlen-bytes": f"{_HERE}.vlen:make_bytes",
    "numcodecs.crc32c": f"{_HERE}.checksums:make_crc32c",
    "numcodecs.crc32": f"{_HERE}.checksums:make_crc32",
    "numcodecs.adler32": f"{_HERE}.checksums:make_adler32",
    "numcodecs.fletcher32": f"{_HERE}.checksums:make_fletcher32",
    "numcodecs.jenkins_lookup3": f"{_HERE}.checksums:make_jenkins",
    "numcodecs.bz2": f"{_HERE}.legacy:make_bz2",
    "numcodecs.lzma": f"{_HERE}.legacy:make_lzma",
    "numcodecs.lz4": f"{_HERE}.legacy:make_lz4",
    "numcodecs.base64": f"{_HERE}.legacy:make_base64",
    "numcodecs.delta": f"{_HERE}.filters:make_delta",
    "numcodecs.fixedscaleoffset": f"{_HERE}.filters:make_fixedscaleoffset",
    "numcodecs.quantize": f"{_HERE}.filters:make_quantize",
    "numcodecs.astype": f"{_HERE}.filters:make_astype",
    "numcodecs.bitround": f"{_HERE}.filters:make_bitround",
    "numcodecs.packbits": f"{_HERE}.filters:make_packbits",
    "numcodecs.vlen-array": f"{_HERE}.objects:make_vlen_array",
    "numcodecs.json2": f"{_HERE}.objects:make_json",
    "numcodecs.msgpack2": f"{_HERE}.objects:make_msgpack",
    "numcodecs.categorize": f"{_HERE}.objects:make_categorize",
    "numcodecs.pcodec": f"{_HERE}.pcodec:make",
    "numcodecs.zfpy": f"{_HERE}.zfp:make_zfpy",
    "numcodecs.szip": f"{_HERE}.images:make_szip",
}

KERCHUNK: Mapping[str, str] = {
    "numcodecs.fill_hdf_strings": f"{_HERE}.kerchunk:make_fill_strings",
    "numcodecs.FITSAscii": f"{_HERE}.kerchunk:make_fits_ascii",
    "numcodecs.FITSVarBintable": f"{_HERE}.kerchunk:make_fits_table",
    "numcodecs.record_member": f"{_HERE}.kerchunk:make_record_member",
    "numcodecs.deflate": f"{_HERE}.kerchunk:make_deflate",
}

HDF5: Mapping[str, str] = {
    "byteatlas.hdf5-elements": f"{_HERE}.hdf5:make_elements",
    "byteatlas.hdf5-nbit": f"{_HERE}.hdf5:make_nbit",
    "byteatlas.hdf5-scaleoffset": f"{_HERE}.hdf5:make_scaleoffset",
    "byteatlas.hdf5-bitshuffle": f"{_HERE}.hdf5:make_bitshuffle",
    "byteatlas.hdf5-zfp": f"{_HERE}.hdf5:make_zfp",
    "byteatlas.hdf5-blosc2": f"{_HERE}.hdf5:make_blosc2",
    "numcodecs.imagecodecs_lzf": f"{_HERE}.hdf5_imagecodecs:make_lzf",
    "numcodecs.imagecodecs_lz4h5": f"{_HERE}.hdf5_imagecodecs:make_lz4h5",
    "numcodecs.imagecodecs_szip": f"{_HERE}.hdf5_imagecodecs:make_szip",
    "numcodecs.imagecodecs_bitshuffle": f"{_HERE}.hdf5_imagecodecs:make_bitshuffle",
    "numcodecs.imagecodecs_jpegls": f"{_HERE}.hdf5_imagecodecs:make_jpegls",
}

TIFF: Mapping[str, str] = {
    "numcodecs.imagecodecs_lzw": f"{_HERE}.tiff_bytes:make_lzw",
    "numcodecs.imagecodecs_packbits": f"{_HERE}.tiff_bytes:make_packbits",
    "numcodecs.imagecodecs_lzma": f"{_HERE}.tiff_bytes:make_lzma",
    "numcodecs.imagecodecs_zstd": f"{_HERE}.tiff_bytes:make_zstd",
    "numcodecs.imagecodecs_zlib": f"{_HERE}.tiff_bytes:make_zlib",
    "numcodecs.imagecodecs_deflate": f"{_HERE}.tiff_bytes:make_deflate",
    "numcodecs.imagecodecs_bitorder": f"{_HERE}.tiff_bytes:make_bitorder",
    "numcodecs.imagecodecs_delta": f"{_HERE}.tiff_bytes:make_delta",
    "numcodecs.imagecodecs_floatpred": f"{_HERE}.tiff_bytes:make_floatpred",
    "numcodecs.imagecodecs_packints": f"{_HERE}.tiff_bytes:make_packints",
    "numcodecs.imagecodecs_float24": f"{_HERE}.tiff_bytes:make_float24",
    "numcodecs.imagecodecs_ccittrle": f"{_HERE}.tiff_images:make_ccittrle",
    "numcodecs.imagecodecs_ccittfax3": f"{_HERE}.tiff_images:make_ccittfax3",
    "numcodecs.imagecodecs_ccittfax4": f"{_HERE}.tiff_images:make_ccittfax4",
    "numcodecs.imagecodecs_jpeg": f"{_HERE}.tiff_images:make_jpeg",
    "numcodecs.imagecodecs_jpeg2k": f"{_HERE}.tiff_images:make_jpeg2k",
    "numcodecs.imagecodecs_jpegxl": f"{_HERE}.tiff_images:make_jpegxl",
    "numcodecs.imagecodecs_jpegxr": f"{_HERE}.tiff_images:make_jpegxr",
    "numcodecs.imagecodecs_png": f"{_HERE}.tiff_images:make_png",
    "numcodecs.imagecodecs_webp": f"{_HERE}.tiff_images:make_webp",
    "numcodecs.imagecodecs_lerc": f"{_HERE}.tiff_images:make_lerc",
    "byteatlas.tiff_complex_int": f"{_HERE}.tiff_bytes:make_complex_int",
    "byteatlas.tiff_float_planes": f"{_HERE}.tiff_bytes:make_float_planes",
    "byteatlas.tiff_logluv": f"{_HERE}.tiff_logluv:make",
    "byteatlas.tiff_libtiff": f"{_HERE}.tiff_libtiff:make",
}
"""What tiles and strips are compressed with; the names are those that imagecodecs gives to numcodecs."""

BUILTIN: Mapping[str, str] = {**CORE, **NUMCODECS, **KERCHUNK, **HDF5, **TIFF}

FAMILIES: Mapping[str, str] = {
    "numcodecs.imagecodecs_": f"{_HERE}.images:make",
    "imagecodecs_": f"{_HERE}.images:make",
}
"""Prefixes of names: a maker there takes the name and the configuration."""

REFUSED: Mapping[str, str] = {
    "numcodecs.pickle": "unpickling runs code that the data bring along",
    "numcodecs.grib": "GRIB messages need a GRIB library",
    "numcodecs.json": "the first version of numcodecs' JSON codec lost the shape of arrays; it was withdrawn",
    "numcodecs.msgpack": "the first version of numcodecs' MessagePack codec lost the shape of arrays; it was withdrawn",
    "zarrs.gdeflate": "no decoder of GDeflate streams is at hand",
}
"""Codecs that are known and never decoded, with the reason."""
