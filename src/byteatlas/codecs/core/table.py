"""The table of built-in codecs: name -> where its maker is. A row's module is imported when a codec is first used.

The name is Zarr v3's, or ``numcodecs.ID``; a maker takes the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

_HERE = "byteatlas.codecs"


CORE: Mapping[str, str] = {
    "bytes": f"{_HERE}.zarr.raw:make_bytes",
    "byteatlas.bytes": f"{_HERE}.zarr.raw:make_stored",
    "byteatlas.unpack": f"{_HERE}.combined.unpack:make",
    "byteatlas.constant": f"{_HERE}.combined.constant:make",
    "byteatlas.crop": f"{_HERE}.combined.crop:make",
    "transpose": f"{_HERE}.zarr.transpose:make",
    "sharding_indexed": f"{_HERE}.zarr.sharding:make",
    "gzip": f"{_HERE}.zarr.deflate:make_gzip",
    "zstd": f"{_HERE}.zarr.zstd:make",
    "blosc": f"{_HERE}.zarr.blosc:make",
    "crc32c": f"{_HERE}.zarr.checksums:make_crc32c",
    "vlen-utf8": f"{_HERE}.zarr.vlen:make_utf8",
    "vlen-bytes": f"{_HERE}.zarr.vlen:make_bytes",
    "vlen-array": f"{_HERE}.numcodecs.objects:make_vlen_array",
    "bitround": f"{_HERE}.numcodecs.filters:make_bitround",
    "scale_offset": f"{_HERE}.zarr.cast:make_scale_offset",
    "cast_value": f"{_HERE}.zarr.cast:make_cast_value",
    "packbits": f"{_HERE}.zarr.packbits:make",
    "reshape": f"{_HERE}.zarr.shape:make_reshape",
    "conditional": f"{_HERE}.zarr.nested:make_conditional",
    "n5_default": f"{_HERE}.zarr.nested:make_n5",
    "zfp": f"{_HERE}.zarr.zfp:make",
    "zarrs.squeeze": f"{_HERE}.zarr.shape:make_squeeze",
    "zarrs.vlen": f"{_HERE}.zarr.zarrs:make_vlen",
    "zarrs.vlen_v2": f"{_HERE}.zarr.vlen:make_bytes",
    "zarrs.optional": f"{_HERE}.zarr.zarrs:make_optional",
}

NUMCODECS: Mapping[str, str] = {
    "numcodecs.zlib": f"{_HERE}.zarr.deflate:make_zlib",
    "numcodecs.gzip": f"{_HERE}.zarr.deflate:make_gzip",
    "numcodecs.shuffle": f"{_HERE}.numcodecs.shuffle:make",
    "numcodecs.zstd": f"{_HERE}.zarr.zstd:make",
    "numcodecs.blosc": f"{_HERE}.zarr.blosc:make",
    "numcodecs.vlen-utf8": f"{_HERE}.zarr.vlen:make_utf8",
    "numcodecs.vlen-bytes": f"{_HERE}.zarr.vlen:make_bytes",
    "numcodecs.crc32c": f"{_HERE}.zarr.checksums:make_crc32c",
    "numcodecs.crc32": f"{_HERE}.zarr.checksums:make_crc32",
    "numcodecs.adler32": f"{_HERE}.zarr.checksums:make_adler32",
    "numcodecs.fletcher32": f"{_HERE}.zarr.checksums:make_fletcher32",
    "numcodecs.jenkins_lookup3": f"{_HERE}.zarr.checksums:make_jenkins",
    "numcodecs.bz2": f"{_HERE}.numcodecs.legacy:make_bz2",
    "numcodecs.lzma": f"{_HERE}.numcodecs.legacy:make_lzma",
    "numcodecs.lz4": f"{_HERE}.numcodecs.legacy:make_lz4",
    "numcodecs.base64": f"{_HERE}.numcodecs.legacy:make_base64",
    "numcodecs.delta": f"{_HERE}.numcodecs.filters:make_delta",
    "numcodecs.fixedscaleoffset": f"{_HERE}.numcodecs.filters:make_fixedscaleoffset",
    "numcodecs.quantize": f"{_HERE}.numcodecs.filters:make_quantize",
    "numcodecs.astype": f"{_HERE}.numcodecs.filters:make_astype",
    "numcodecs.bitround": f"{_HERE}.numcodecs.filters:make_bitround",
    "numcodecs.packbits": f"{_HERE}.numcodecs.filters:make_packbits",
    "numcodecs.vlen-array": f"{_HERE}.numcodecs.objects:make_vlen_array",
    "numcodecs.json2": f"{_HERE}.numcodecs.objects:make_json",
    "numcodecs.msgpack2": f"{_HERE}.numcodecs.objects:make_msgpack",
    "numcodecs.categorize": f"{_HERE}.numcodecs.objects:make_categorize",
    "numcodecs.pcodec": f"{_HERE}.numcodecs.pcodec:make",
    "numcodecs.zfpy": f"{_HERE}.zarr.zfp:make_zfpy",
    "numcodecs.szip": f"{_HERE}.numcodecs.images:make_szip",
}

KERCHUNK: Mapping[str, str] = {
    "numcodecs.fill_hdf_strings": f"{_HERE}.numcodecs.kerchunk:make_fill_strings",
    "numcodecs.FITSAscii": f"{_HERE}.numcodecs.kerchunk:make_fits_ascii",
    "numcodecs.FITSVarBintable": f"{_HERE}.numcodecs.kerchunk:make_fits_table",
    "numcodecs.record_member": f"{_HERE}.numcodecs.kerchunk:make_record_member",
    "numcodecs.deflate": f"{_HERE}.numcodecs.kerchunk:make_deflate",
}

HDF5: Mapping[str, str] = {
    "byteatlas.hdf5-elements": f"{_HERE}.hdf5.filters:make_elements",
    "byteatlas.hdf5-nbit": f"{_HERE}.hdf5.filters:make_nbit",
    "byteatlas.hdf5-scaleoffset": f"{_HERE}.hdf5.filters:make_scaleoffset",
    "byteatlas.hdf5-bitshuffle": f"{_HERE}.hdf5.filters:make_bitshuffle",
    "byteatlas.hdf5-zfp": f"{_HERE}.hdf5.filters:make_zfp",
    "byteatlas.hdf5-blosc2": f"{_HERE}.hdf5.filters:make_blosc2",
    "numcodecs.imagecodecs_lzf": f"{_HERE}.hdf5.compressors:make_lzf",
    "numcodecs.imagecodecs_lz4h5": f"{_HERE}.hdf5.compressors:make_lz4h5",
    "numcodecs.imagecodecs_szip": f"{_HERE}.hdf5.compressors:make_szip",
    "numcodecs.imagecodecs_bitshuffle": f"{_HERE}.hdf5.compressors:make_bitshuffle",
    "numcodecs.imagecodecs_jpegls": f"{_HERE}.hdf5.compressors:make_jpegls",
}

TIFF: Mapping[str, str] = {
    "numcodecs.imagecodecs_lzw": f"{_HERE}.tiff.samples:make_lzw",
    "numcodecs.imagecodecs_packbits": f"{_HERE}.tiff.samples:make_packbits",
    "numcodecs.imagecodecs_lzma": f"{_HERE}.tiff.samples:make_lzma",
    "numcodecs.imagecodecs_zstd": f"{_HERE}.tiff.samples:make_zstd",
    "numcodecs.imagecodecs_zlib": f"{_HERE}.tiff.samples:make_zlib",
    "numcodecs.imagecodecs_deflate": f"{_HERE}.tiff.samples:make_deflate",
    "numcodecs.imagecodecs_bitorder": f"{_HERE}.tiff.samples:make_bitorder",
    "numcodecs.imagecodecs_delta": f"{_HERE}.tiff.samples:make_delta",
    "numcodecs.imagecodecs_floatpred": f"{_HERE}.tiff.samples:make_floatpred",
    "numcodecs.imagecodecs_packints": f"{_HERE}.tiff.samples:make_packints",
    "numcodecs.imagecodecs_float24": f"{_HERE}.tiff.samples:make_float24",
    "numcodecs.imagecodecs_ccittrle": f"{_HERE}.tiff.images:make_ccittrle",
    "numcodecs.imagecodecs_ccittfax3": f"{_HERE}.tiff.images:make_ccittfax3",
    "numcodecs.imagecodecs_ccittfax4": f"{_HERE}.tiff.images:make_ccittfax4",
    "numcodecs.imagecodecs_jpeg": f"{_HERE}.tiff.images:make_jpeg",
    "numcodecs.imagecodecs_jpeg2k": f"{_HERE}.tiff.images:make_jpeg2k",
    "numcodecs.imagecodecs_jpegxl": f"{_HERE}.tiff.images:make_jpegxl",
    "numcodecs.imagecodecs_jpegxr": f"{_HERE}.tiff.images:make_jpegxr",
    "numcodecs.imagecodecs_png": f"{_HERE}.tiff.images:make_png",
    "numcodecs.imagecodecs_webp": f"{_HERE}.tiff.images:make_webp",
    "numcodecs.imagecodecs_lerc": f"{_HERE}.tiff.images:make_lerc",
    "byteatlas.tiff_complex_int": f"{_HERE}.tiff.samples:make_complex_int",
    "byteatlas.tiff_float_planes": f"{_HERE}.tiff.samples:make_float_planes",
    "byteatlas.tiff_logluv": f"{_HERE}.tiff.logluv:make",
    "byteatlas.tiff_libtiff": f"{_HERE}.tiff.libtiff:make",
}
"""What tiles and strips are compressed with; the names are those that imagecodecs gives to numcodecs."""

BUILTIN: Mapping[str, str] = {**CORE, **NUMCODECS, **KERCHUNK, **HDF5, **TIFF}

FAMILIES: Mapping[str, str] = {
    "numcodecs.imagecodecs_": f"{_HERE}.numcodecs.images:make",
    "imagecodecs_": f"{_HERE}.numcodecs.images:make",
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
