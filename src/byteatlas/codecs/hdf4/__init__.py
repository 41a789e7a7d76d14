"""Compressions of HDF4: run lengths, N-bit numbers, skipping Huffman, szip with a preamble. They decode only."""
