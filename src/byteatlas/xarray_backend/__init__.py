"""The xarray engine ``byteatlas``: reference maps, Zarr stores and archives as datasets and data trees.

Variables are lazy: only what is indexed is fetched and decoded, by this library's own engine. Packing, times and
missing values are left to xarray's CF decoding, which sees the attributes that the netCDF engines would show it.
"""

from byteatlas.xarray_backend.backend import ByteatlasBackend

__all__ = ["ByteatlasBackend"]
