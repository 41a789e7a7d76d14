"""HDF-EOS, versions 2 (HDF4) and 5 (HDF5): what StructMetadata say of grids and swaths, on finished trees."""
