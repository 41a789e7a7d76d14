"""Zarr stores as virtual inputs: where the chunks of a stored hierarchy lie, from its listing."""
