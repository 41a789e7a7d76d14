"""``byteatlas.hdf4-skphuff``: skipping Huffman (HDF4's COMP_CODE_SKPHUFF).

Each byte of an element has a code tree of its own, which is semi-splayed after every byte (D. W. Jones, "Application of
splay trees to data compression", CACM 31, 1988). Configuration: ``skip``, the number of trees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from byteatlas.codecs.core.checks import byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, integer, only
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "hdf4-skphuff"
ROOT = 0
LEAVES = 256
"""Numbers of leaves begin here: the byte's value is added."""


@dataclass(frozen=True, slots=True)
class SkippingHuffman:
    """The codec."""

    skip: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            return self._decoded(data, spec.limit if spec.nbytes is None else spec.nbytes)

        return byte_step(NAME, spec, decode)

    def _decoded(self, data: Bytes, wanted: int) -> bytes:
        packed = np.frombuffer(data, np.uint8)
        if 8 * len(packed) < wanted:  # a code has one bit at least
            raise CorruptChunk(f"{NAME}: {len(packed)} bytes cannot decode to {wanted}")
        bits = iter(np.unpackbits(packed).tolist())
        trees = [_Tree() for _ in range(min(self.skip, wanted))]
        out = bytearray(wanted)
        try:
            for i in range(wanted):
                out[i] = trees[i % self.skip].take(bits.__next__)
        except StopIteration:
            raise CorruptChunk(f"{NAME}: the data end before {wanted} bytes are decoded") from None
        return bytes(out)


class _Tree:
    """A code tree: children of inner nodes, parents of all nodes."""

    __slots__ = ("children", "parents")

    def __init__(self) -> None:
        self.children = [[2 * i, 2 * i + 1] for i in range(LEAVES)]
        self.parents = [i >> 1 for i in range(2 * LEAVES + 1)]

    def take(self, bit: Callable[[], int]) -> int:
        """The next byte; the path to it becomes shorter."""
        children, parents = self.children, self.parents
        node = ROOT
        while True:
            node = children[node][bit()]
            if node >= LEAVES:
                break
        found = node - LEAVES
        while node != ROOT:
            parent = parents[node]
            if parent == ROOT:
                break
            above = parents[parent]
            pair, mine = children[above], children[parent]
            other = pair[1] if pair[0] == parent else pair[0]
            pair[1 if pair[0] == parent else 0] = node
            mine[0 if mine[0] == node else 1] = other
            parents[node], parents[other] = above, parent
            node = above
        return found


def make(configuration: Configuration) -> SkippingHuffman:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "skip")
    return SkippingHuffman(integer(configuration, "skip", least=1, most=1 << 16))
