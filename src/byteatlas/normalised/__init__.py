"""Any tree of arrays as plain, regular Zarr: metadata documents, and the bytes of chunks by key. No server, no zarr.

What byteatlas can read and others cannot (chunks of differing lengths, several encodings in one array, codecs of
archive formats) is decoded by our engine and encoded again: regular chunks, ``bytes`` alone or with ``zstd``, data
types that every reader knows, dimension names as xarray has them.

>>> view = NormalisedView(byteatlas.open("archive.json"))       # doctest: +SKIP
>>> view.documents()["zarr.json"], view.chunk("t/c/0/0")        # doctest: +SKIP
"""

from byteatlas.normalised.options import NormaliseOptions
from byteatlas.normalised.view import NormalisedView

__all__ = ["NormaliseOptions", "NormalisedView"]
