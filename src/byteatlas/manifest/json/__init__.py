"""Kerchunk's JSON reference maps, read as columns and written as columns."""
