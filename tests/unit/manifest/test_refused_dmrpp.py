"""Each thing that DMR++ has no words for is refused under the name of what it is about."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from tests.maps import LITTLE, ZLIB, array

from byteatlas.errors import Unsupported
from byteatlas.manifest.foreign.dmrpp import write_dmrpp
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.meta.model import CodecSpec, GroupMeta, RectilinearGrid
from byteatlas.values import replace


def written(node: VirtualNode) -> str:
    stream = BytesIO()
    write_dmrpp(node, stream, MapWriteOptions())
    return stream.getvalue().decode()


def coded(found: VirtualArray, *codecs: CodecSpec) -> VirtualArray:
    encoding = replace(found.meta.encodings[0], codecs=codecs)
    return replace(found, meta=replace(found.meta, encodings=(encoding,)))


def filled(found: VirtualArray, fill: bytes) -> VirtualArray:
    return replace(found, meta=replace(found.meta, fill_value=fill))


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"n": 1}
    for _ in range(depth):
        found = {"in": found}
    return found


IN_TWO = array((4,), (2,), references={(0,): b"12345678", (1,): b"12345678"})
OF_SIZES = array((4,), (4,), references={(0,): ("/a", 0, 16)})
TOO_LARGE = "x, attribute 'n': an integer of more than 64 bits"
CASES: dict[str, tuple[VirtualArray, str]] = {
    "grid": (
        replace(OF_SIZES, meta=replace(OF_SIZES.meta, grid=RectilinearGrid(((3, 1),)))),
        "x: chunks of different sizes",
    ),
    "length": (array((4,), (4,), references={(0,): ("/a", 0, 17)}), "x: 16 bytes of values in a chunk of 17"),
    "scalar": (
        coded(array((), (), references={(): ("/a", 0, 4)}), LITTLE, ZLIB),
        "x: a single value that is compressed, or was never written",
    ),
    "whole": (array((4,), (2,), references={(0,): ("/a",)}), "x: a chunk that is a whole file"),
    "serializer": (coded(OF_SIZES, CodecSpec("vlen-utf8", {})), "x: codec vlen-utf8"),
    "codec": (coded(OF_SIZES, LITTLE, CodecSpec("zstd", {})), "x: codec zstd"),
    "shuffle": (
        coded(OF_SIZES, LITTLE, CodecSpec("numcodecs.shuffle", {"elementsize": 2})),
        "x: codec numcodecs.shuffle",
    ),
    "compressed in the map": (
        coded(array((4,), (4,), references={(0,): b"1"}), LITTLE, ZLIB),
        "x: compressed values in the map",
    ),
    "several in the map": (IN_TWO, "x: values in the map, in several chunks"),
    "too short in the map": (array((4,), (4,), references={(0,): b"1"}), "x: values in the map, in several chunks"),
    "fill": (
        filled(array((2,), (2,), "S2", references={(0,): ("/a", 0, 4)}), b"\xff"),
        "x: a fill value that is no ASCII text",
    ),
    "dimension": (array((4,), (4,), dimension_names=("a/b",)), "the root: a dimension with the name 'a/b'"),
    "dimension without a name": (array((4,), (4,), dimension_names=("",)), "the root: a dimension with the name ''"),
    "containers": (array((4,), (4,), attributes=nested(9)), "x: attributes in more than 8 containers"),
    "two encodings": (
        replace(OF_SIZES, meta=replace(OF_SIZES.meta, encodings=OF_SIZES.meta.encodings * 2, zarr_format=3)),
        "x: chunks that are stored in several ways",
    ),
    "small integer": (
        array((4,), (4,), attributes={"n": -(1 << 63) - 1}),
        TOO_LARGE,
    ),
    "large integer": (
        array((4,), (4,), attributes={"n": 1 << 64}),
        TOO_LARGE,
    ),
    "far integers": (
        array((4,), (4,), attributes={"n": [-1, 1 << 63]}),
        TOO_LARGE,
    ),
    "mixed": (
        array((4,), (4,), attributes={"n": [0.5, (1 << 53) + 1]}),
        "x, attribute 'n': numbers that no one type holds",
    ),
    "kinds": (
        array((4,), (4,), attributes={"n": [1, "a"]}),
        "x, attribute 'n': a value that is neither text nor a number, or a list of different kinds",
    ),
    "reserved": (
        array((4,), (4,), attributes={"build_dmrpp_metadata": "a"}),
        "x, attribute 'build_dmrpp_metadata': a name that readers pass over",
    ),
    "no name": (array((4,), (4,), attributes={"": "a"}), "x, attribute '': a name that readers pass over"),
    "type": (array((4,), (4,), "<c8"), "x: values of type complex64"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_words(name: str) -> None:
    node, why = CASES[name]
    with pytest.raises(Unsupported) as refused:
        written(VirtualGroup(arrays={"x": node}))
    assert refused.value.reason == "dmrpp"
    assert refused.value.detail == f"{why}; DMR++ has no words for it (write .json or .parquet)"


def test_a_document_describes_a_group() -> None:
    with pytest.raises(Unsupported, match=r"the root: a document describes a group, not a single array.*\[dmrpp\]"):
        written(OF_SIZES)


def test_eight_containers_are_written() -> None:
    assert written(VirtualGroup(GroupMeta(nested(8), 2))).count("Container") == 8


def test_arrays_of_one_group_agree_on_dimensions() -> None:
    both = {n: array((n_,), (n_,), dimension_names=("t",)) for n, n_ in (("x", 4), ("y", 5))}
    with pytest.raises(Unsupported, match="g/y: dimension 't' is 5 here and 4 elsewhere in its group"):
        written(VirtualGroup(groups={"g": VirtualGroup(arrays=both)}))


def test_one_chunk_in_the_map_is_written_as_text() -> None:
    data = np.arange(4, dtype="<f4").tobytes()
    assert "<dmrpp:compact>AAAAAAAAgD8AAABAAABAQA==</dmrpp:compact>" in written(
        VirtualGroup(arrays={"x": array((4,), (4,), references={(0,): data})})
    )


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (-(1 << 63), "Int64"),
        ((1 << 64) - 1, "UInt64"),
        (1 << 63, "UInt64"),
        ((1 << 63) - 1, "Int64"),
        (-(1 << 31), "Int32"),
        (-(1 << 31) - 1, "Int64"),
        (1 << 31, "Int64"),
        ((1 << 31) - 1, "Int32"),
        ([0.5, 1 << 53], "Float64"),
        ("a", "String"),
    ],
)
def test_types_of_attributes(value: Any, kind: str) -> None:
    text = written(VirtualGroup(GroupMeta({"n": value}, 2)))
    assert f'<Attribute name="n" type="{kind}">' in text


def test_arrays_are_counted_as_they_are_written() -> None:
    told: list[tuple[str, int, int]] = []
    group = VirtualGroup(arrays={"x": OF_SIZES}, groups={"g": VirtualGroup(arrays={"y": OF_SIZES})})
    write_dmrpp(group, BytesIO(), MapWriteOptions(), lambda name, n, of: told.append((name, n, of)))
    assert told == [("x", 0, 2), ("g/y", 1, 2)]
