"""The HDF5 and netCDF-4 scanner.

Sans-IO, with no HDF5 library underneath. Two halves meet in this package:

- *structure*: `superblock`, `header`, `links`, `heap`, `btree2`, `chunks`, `arrays`, `layout` ... find out what is in a
  file and where its bytes lie; `walk` reads the objects, `library` the files that links lead to, `dims` gives
  dimensions their names, `tree` builds the result.
- *values*: `datatype` and `stored` say what elements are, `filters` what chunks went through, `fillvalue` what missing
  ones read as, `values` decodes attributes and variable-length data.
"""

from byteatlas_scanners.hdf5.scan import SCANNER, Hdf5Scanner

__all__ = ["SCANNER", "Hdf5Scanner"]
