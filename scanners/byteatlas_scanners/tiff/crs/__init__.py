"""Where an image lies on the Earth: GeoKeys to coordinate reference systems."""
