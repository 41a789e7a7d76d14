"""Columns of text that lies in one buffer: distinct values found without an object per row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.json.text.tokens import Entries


def intern_urls(entries: Entries, known: dict[bytes, int], number: Callable[[bytes], int]) -> NDArray[np.int32]:
    """A number for each entry's raw URL; ``number`` is called for those not in ``known``, which grows."""
    codes, distinct = distinct_slices(entries.data, entries.value, entries.value_end)
    numbers = np.empty(len(distinct), np.int32)
    for i, raw in enumerate(distinct):
        found = known.get(raw)
        if found is None:
            found = known[raw] = number(raw)
        numbers[i] = found
    return numbers[codes]


def distinct_slices(
    data: bytes, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int32], list[bytes]]:
    """Which of its distinct slices each slice ``data[begin:end]`` is; slices ascend and do not overlap."""
    import pyarrow as pa

    n = len(begin)
    # Slices and the gaps between them are one Arrow array over the buffer; the slices are every other element.
    offsets = np.empty(2 * n, np.int32)
    offsets[0::2], offsets[1::2] = begin, end
    both = pa.Array.from_buffers(pa.binary(), 2 * n - 1, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)])
    places = np.arange(0, 2 * n, 2, dtype=np.int32)
    taken = both.take(pa.Array.from_buffers(pa.int32(), n, [None, pa.py_buffer(places.tobytes())]))
    encoded = taken.dictionary_encode()
    codes = np.frombuffer(encoded.indices.buffers()[1], np.int32, n)
    return codes, encoded.dictionary.to_pylist()
