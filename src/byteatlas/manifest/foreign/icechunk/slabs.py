"""Chunks of a grid in rectangles: what icechunk takes in one call, with one checksum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import Shape


class Rectangle(NamedTuple):
    """A rectangle of chunks whose flat numbers follow each other: ``begin`` to ``end`` (excluded)."""

    at: Shape
    shape: Shape
    begin: int
    end: int


def boxes(counts: Shape, size: int, first: int = 0) -> Iterator[Rectangle]:
    """The whole grid, in order, in rectangles of about ``size`` chunks at most.

    ``first``: begin with the layer (along the first axis) that this chunk lies in.

    >>> [tuple(b) for b in boxes((3, 2), 4)]
    [((0, 0), (2, 2), 0, 4), ((2, 0), (1, 2), 4, 6)]
    """
    if not counts:
        yield Rectangle((), (), 0, 1)
        return
    layer = math.prod(counts[1:])
    if not layer or not counts[0]:
        return
    start = first // layer
    if layer > size:
        for i in range(start, counts[0]):
            for at, shape, begin, end in boxes(counts[1:], size):
                yield Rectangle((i, *at), (1, *shape), i * layer + begin, i * layer + end)
        return
    step, rest = size // layer, (0,) * (len(counts) - 1)
    for i in range(start, counts[0], step):
        n = min(step, counts[0] - i)
        yield Rectangle((i, *rest), (n, *counts[1:]), i * layer, (i + n) * layer)


def slabs(key: NDArray[np.int64], shape: Shape) -> Iterator[Rectangle]:
    """Rectangles of one key each, which together are the grid.

    >>> [tuple(s) for s in slabs(np.array([1, 1, 1, 1, 1, 2]), (3, 2))]
    [((0, 0), (2, 2), 0, 4), ((2, 0), (1, 1), 4, 5), ((2, 1), (1, 1), 5, 6)]
    """
    if not len(key):
        return
    if not shape or bool((key == key[0]).all()):
        yield Rectangle((0,) * len(shape), shape, 0, len(key))
        return
    layers = key.reshape(shape[0], -1)
    width, rest = layers.shape[1], (0,) * (len(shape) - 1)
    same = (layers == layers[:, :1]).all(axis=1)
    breaks = ~same[1:] | ~same[:-1] | (layers[1:, 0] != layers[:-1, 0])
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), shape[0]]
    for begin, end in pairwise(edges):
        if same[begin]:
            yield Rectangle((begin, *rest), (end - begin, *shape[1:]), begin * width, end * width)
        else:
            for s in slabs(layers[begin], shape[1:]):
                yield Rectangle((begin, *s.at), (1, *s.shape), begin * width + s.begin, begin * width + s.end)


def filled(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keys in which those below zero (chunks that are not there, which fit into any slab) are their neighbours'.

    >>> filled(np.array([-1, 3, -1, 4])).tolist()
    [3, 3, 3, 4]
    """
    there = key >= 0
    if not there.any():
        return key
    last = np.maximum.accumulate(np.where(there, np.arange(len(key)), 0))
    found = key[last]
    return np.where(found < 0, key[int(np.argmax(there))], found)
