"""Our arrays as xarray indexes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from byteatlas.array import Array
from byteatlas.array.reading.opening import fill_of


class LazyArray(BackendArray):
    """An array that xarray indexes.

    It is pickled as the array is: of a map by URL, options and stamp, so that another process reads the same map or
    raises `SourceChanged`. ``shape`` may be larger than the array's: then the rest reads as its fill value.
    """

    def __init__(self, array: Array, shape: tuple[int, ...]) -> None:
        self._values = array
        self.shape, self.dtype = shape, array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if self.shape != self._values.shape:
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._padded)
        read = self._basic
        if isinstance(key, indexing.VectorizedIndexer):
            read = self._vectorized
        elif isinstance(key, indexing.OuterIndexer):
            read = self._outer
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.VECTORIZED, read)

    def _basic(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self._values.read(key)

    def _outer(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self._values.read_orthogonal(key)

    def _vectorized(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self._values.read_points(pointwise(key, self.shape))

    def _padded(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """An outer selection of which a part lies beyond the array itself."""
        places = [np.atleast_1d(np.arange(n)[k]) for k, n in zip(key, self.shape, strict=True)]
        inside = [p < n for p, n in zip(places, self._values.shape, strict=True)]
        out = np.empty([len(p) for p in places], self.dtype)
        out[...] = fill_of(self._values.meta)
        out[np.ix_(*inside)] = self._values.read_orthogonal(tuple(p[i] for p, i in zip(places, inside, strict=True)))
        return out[tuple(0 if np.ndim(k) == 0 and not isinstance(k, slice) else slice(None) for k in key)]


def pointwise(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """A vectorized key with its slices spelled out: the arrays' axes come first, then one axis for each slice."""
    arrays = [np.asarray(k) for k in key if not isinstance(k, slice)]
    lead = max((a.ndim for a in arrays), default=0)
    slices = sum(isinstance(k, slice) for k in key)
    out, nth = [], 0
    for item, n in zip(key, shape, strict=True):
        if isinstance(item, slice):
            nth += 1
            positions = np.arange(n, dtype=np.int64)[item]
            out.append(positions.reshape((1,) * (lead + nth - 1) + (-1,) + (1,) * (slices - nth)))
        else:
            positions = np.asarray(item)
            out.append(positions.reshape(positions.shape + (1,) * slices))
    return tuple(out)
