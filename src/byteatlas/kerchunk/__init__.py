"""For scripts that were written for kerchunk: its modules, names and arguments, over this library.

``from kerchunk.hdf import SingleHdf5ToZarr`` becomes ``from byteatlas.kerchunk.hdf import SingleHdf5ToZarr``; so for
``netCDF3``, ``tiff``, ``fits``, ``grib2``, ``hdf4``, ``zarr``, ``combine``, ``df`` and ``utils``. What they return are
references as dicts, as kerchunk's do. What differs, and why, stands in docs/how-to/from-kerchunk.md.
"""
