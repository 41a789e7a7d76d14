"""byteatlas: an atlas of byte ranges. Legacy archives as virtual Zarr."""

__version__ = "0.1.0"
