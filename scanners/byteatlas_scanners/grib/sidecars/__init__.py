"""Index files beside a file: wgrib2's .idx and ECMWF's .index."""
