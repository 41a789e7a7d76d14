"""STAC Items that describe maps, archives and stores: plain JSON, made of coordinates and CF attributes.

Sources: STAC 1.1.0 (Item), the extensions datacube 2.2.0 and projection 2.0.0, GeoJSON (RFC 7946).
"""

from byteatlas.stac.item import stac_item
from byteatlas.stac.options import StacOptions

__all__ = ["StacOptions", "stac_item"]
