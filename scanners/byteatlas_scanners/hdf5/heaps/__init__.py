"""Heaps, where HDF5 keeps what has no fixed size."""
