"""Zarr metadata as frozen values. No I/O: documents in, documents out."""
