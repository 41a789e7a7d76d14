"""Codecs of FITS: columns of tables, text of ASCII tables, the heap, and tiles of compressed images."""
