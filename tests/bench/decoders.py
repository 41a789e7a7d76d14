"""What no engine can beat: the decoders alone, on all cores, with the chunks' bytes in memory beforehand.

Two figures. One decodes into a buffer that stays in the cache, which no reader can do: whoever reads a large array has
to write it to memory. The other puts each decoded chunk in its place in the result, and is the ceiling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import cores
from byteatlas.codecs import Pipeline

CACHED = "decoders alone, into the cache"
CEILING = "decoders alone, into the result"


def baselines(pipeline: Pipeline, chunks: Sequence[bytes], result: NDArray[Any]) -> Mapping[str, Callable[[], None]]:
    """``chunks`` in C order of a regular grid that divides ``result`` evenly."""
    counts = tuple(n // c for n, c in zip(result.shape, pipeline.shape, strict=True))
    places = [
        tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, pipeline.shape, strict=True))
        for index in np.ndindex(*counts)
    ]
    threads = cores()

    def cached(first: int) -> None:
        scratch = np.empty(pipeline.shape, pipeline.dtype)
        for chunk in chunks[first::threads]:
            pipeline.decode(chunk, scratch)

    def placed(first: int) -> None:
        scratch = np.empty(pipeline.shape, pipeline.dtype)
        for chunk, place in zip(chunks[first::threads], places[first::threads], strict=True):
            target = result[place]
            if target.flags.c_contiguous:
                pipeline.decode(chunk, target)
            else:
                target[...] = pipeline.decode(chunk, scratch)

    def on_all_cores(work: Callable[[int], None]) -> Callable[[], None]:
        def run() -> None:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, range(threads)))

        return run

    return {CACHED: on_all_cores(cached), CEILING: on_all_cores(placed)}
