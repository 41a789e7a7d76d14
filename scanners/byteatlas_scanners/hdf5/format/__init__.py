"""The structures of the HDF5 file format: one module for each kind of structure or message."""
