"""The HDF5 and netCDF-4 scanner.

Parsers that ask for bytes, with no libhdf5 underneath.

- *what is in a file, and where its bytes lie*: `format` has a module for each structure or message, `heaps` and
  `chunks` what they point to. `walk` reads all objects of a file, `dataset` the messages of one, `storage` where
  its bytes are, `external_storage` those that are in other files.
- *what values are*: `values` decodes attributes and variable-length data, `filters` says what chunks went through,
  `virtual` what virtual datasets are made of.
- *the result*: `scan` runs it all, `linked_files` the files that links lead to, `dims` gives dimensions their names,
  `tree` builds groups, arrays and the report.
"""

from byteatlas_scanners.hdf5.scan import SCANNER, Hdf5Scanner

__all__ = ["SCANNER", "Hdf5Scanner"]
