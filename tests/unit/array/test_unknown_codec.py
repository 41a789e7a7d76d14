"""An array that cannot be decoded does not hide its neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from byteatlas.array import Array, Group, open_node
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.manifest.model import VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid


def array(*codecs: CodecSpec) -> VirtualArray:
    chain = (CodecSpec("bytes", {"endian": "little"}), *codecs)
    meta = ArrayMeta((4,), from_numpy(np.dtype("<i4")), RegularGrid((4,)), (Encoding(chain),), np.int32(0))
    return VirtualArray(meta, inline_manifest((1,), {0: np.arange(4, dtype="<i4").tobytes()}))


@pytest.fixture
def root() -> Group:
    tree = VirtualGroup(arrays={"odd": array(CodecSpec("numcodecs.no_such_codec")), "good": array()})
    node = open_node(tree)
    assert isinstance(node, Group)
    return node


def test_opening_it_by_name_raises(root: Group) -> None:
    with pytest.raises(Unsupported, match="no_such_codec"):
        root["odd"]


def test_walking_shows_it_and_reading_it_raises(root: Group) -> None:
    nodes = dict(root.walk())
    assert list(nodes) == ["odd", "good"]
    good, odd = nodes["good"], root.arrays()["odd"]
    assert isinstance(good, Array)
    assert good[...].tolist() == [0, 1, 2, 3]
    assert odd.shape == (4,)
    reads: list[Callable[[], object]] = [
        lambda: odd[...],
        lambda: odd.vindex[[0]],
        lambda: odd.oindex[[0]],
        lambda: odd.blocks[0],
    ]
    for read in reads:
        with pytest.raises(Unsupported, match=r"odd: .*no_such_codec"):
            read()


def test_bad_configurations_wait_too() -> None:
    tree = VirtualGroup(arrays={"odd": array(CodecSpec("numcodecs.zlib", {"level": "high"}))})
    node = open_node(tree)
    assert isinstance(node, Group)
    ((_, odd),) = node.walk()
    assert isinstance(odd, Array)
    with pytest.raises(InvalidMetadata, match="odd"):
        odd[...]
    with pytest.raises(InvalidMetadata):
        node["odd"]


def test_an_empty_selection_of_an_absurd_grid_costs_nothing() -> None:
    shape = (1 << 56, 0)
    encoding = Encoding((CodecSpec("bytes", {"endian": "little"}),))
    meta = ArrayMeta(shape, from_numpy(np.dtype("<i4")), RegularGrid((4, 4)), (encoding,))
    found = open_node(VirtualArray(meta, inline_manifest((1 << 54, 0), {})))
    assert isinstance(found, Array)
    assert found[...].shape == shape
