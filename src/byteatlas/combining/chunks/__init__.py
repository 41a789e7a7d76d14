"""Chunk grids and the columns of manifests of combined variables."""
