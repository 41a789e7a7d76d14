"""Filter pipelines, and the Zarr codecs that undo them."""
