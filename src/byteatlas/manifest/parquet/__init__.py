"""Kerchunk's Parquet reference maps."""
