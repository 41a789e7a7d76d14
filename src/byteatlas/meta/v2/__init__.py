"""Zarr version 2 documents (``.zarray``, ``.zgroup``, ``.zattrs``) to and from the model.

Read more widely than the specification is written, because of what real writers do: NCZarr (netCDF-C) puts numbers in
strings, one fill value in a list, leaves ``fill_value`` out, writes scalars as arrays of shape ``[1]`` and keeps
dimension names in attributes of its own; ``filters`` may be empty or absent; unknown members are passed over.
"""

from byteatlas.meta.v2.codecs import OBJECT_CODECS, bytes_codec
from byteatlas.meta.v2.read import parse_array, parse_group
from byteatlas.meta.v2.write import dump_array, dump_group

__all__ = ["OBJECT_CODECS", "bytes_codec", "dump_array", "dump_group", "parse_array", "parse_group"]
