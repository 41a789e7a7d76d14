"""Overviews: arrays at coarser resolutions, and the metadata that lists them."""
