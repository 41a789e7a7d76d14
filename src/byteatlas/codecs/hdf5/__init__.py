"""Codecs for HDF5's filters and datatypes."""
