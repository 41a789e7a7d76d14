"""Codecs of the Zarr specifications and the Zarr extensions registry."""
