"""Icechunk repositories: virtual references written in commits, and read back (extra ``icechunk``).

Arrays are Zarr version 3 there; chunks in the map become native chunks.
"""

from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions, place_of_url
from byteatlas.manifest.foreign.icechunk.read import read_icechunk, read_place, tip_of
from byteatlas.manifest.foreign.icechunk.write import write_icechunk

__all__ = ["IcechunkOptions", "place_of_url", "read_icechunk", "read_place", "tip_of", "write_icechunk"]
