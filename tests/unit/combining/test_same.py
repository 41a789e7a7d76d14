"""Which descriptions are alike: the fast way says what comparing one by one says."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from tests.maps import array_at

import byteatlas as ba
from byteatlas.array import Array
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare.bulk import BATCH, KnownEncodings
from byteatlas.combining.compare.classify import alike, classify
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RectilinearGrid, RegularGrid

NONE: frozenset[int] = frozenset()
NAN = np.float32("nan")


def chain(level: int = 4, kind: str = "zlib") -> tuple[Encoding, ...]:
    return (Encoding((CodecSpec("bytes", {"endian": "little"}), CodecSpec(f"numcodecs.{kind}", {"level": level}))),)


def described(encodings: tuple[Encoding, ...], fill: object = NAN) -> ArrayMeta:
    return ArrayMeta(
        (4, 6), from_numpy(np.dtype("f4")), RegularGrid((2, 6)), encodings, fill, ("t", "x"), {"units": "K"}
    )


OTHERS: dict[str, Callable[[ArrayMeta], ArrayMeta]] = {
    "shape": lambda m: replace(m, shape=(6, 6)),
    "grid": lambda m: replace(m, grid=RegularGrid((4, 6))),
    "uneven": lambda m: replace(m, grid=RectilinearGrid(((2, 2), (6,)))),
    "dims": lambda m: replace(m, dimension_names=("t", "y")),
    "attributes": lambda m: replace(m, attributes={"units": "degC"}),
    "fill": lambda m: replace(m, fill_value=np.float32(0)),
    "no fill": lambda m: replace(m, fill_value=None),
    "type": lambda m: replace(m, data_type=from_numpy(np.dtype("f8"))),
    "codec": lambda m: replace(m, encodings=chain(kind="bz2")),
    "endian": lambda m: replace(m, encodings=(Encoding((CodecSpec("bytes", {"endian": "big"}), *m.codecs[1:])),)),
    "more codecs": lambda m: replace(m, encodings=(Encoding((*m.codecs, *m.codecs[1:])),)),
    "fewer codecs": lambda m: replace(m, encodings=(Encoding(m.codecs[:1]),)),
    "chunk": lambda m: replace(m, encodings=(replace(m.encodings[0], chunk_shape=(2, 8)),)),
    "stored as": lambda m: replace(m, encodings=(replace(m.encodings[0], data_type=from_numpy(np.dtype("i2"))),)),
    "cast": lambda m: replace(m, encodings=(replace(m.encodings[0], cast=(CodecSpec("scale_offset"),)),)),
    "two": lambda m: replace(m, encodings=m.encodings * 2),
}


@pytest.mark.parametrize(("name", "at"), list(product(OTHERS, (0, 1, BATCH, 2 * BATCH))))
def test_one_that_differs_is_found(name: str, at: int) -> None:
    metas = [described(chain()) for _ in range(2 * BATCH + 1)]
    metas[at] = OTHERS[name](metas[at])
    found = classify(metas, range(len(metas)), NONE, KnownEncodings())
    assert [alike(m, metas[0], NONE) for m in metas].count(False) in (1, len(metas) - 1)
    assert sorted(len(c.members) for c in found) == [1, len(metas) - 1]
    assert sorted(i for c in found for i in c.members) == list(range(len(metas)))
    assert (at,) in [c.members for c in found]
    assert not any(c.even for c in found)


def test_settings_that_decoders_ignore_make_no_difference() -> None:
    metas = [described(chain(level)) for level in (1, 4, 4, 9)]
    (one,) = classify(metas, range(4), NONE, KnownEncodings())
    assert one.members == (0, 1, 2, 3)


def test_chains_of_the_variable_before_vouch_for_the_same_objects_only() -> None:
    files, chains = [chain() for _ in range(5)], KnownEncodings()
    assert len(classify([described(c) for c in files], range(5), NONE, chains)) == 1
    assert chains.known(files)
    assert len(classify([described(c, np.float32(1)) for c in files], range(5), NONE, chains)) == 1
    files[3] = chain(kind="bz2")
    found = classify([described(c) for c in files], range(5), NONE, chains)
    assert [c.members for c in found] == [(0, 1, 2, 4), (3,)]
    assert not chains.known(files)
    assert len(classify([described(c) for c in files[:3]], range(3), NONE, chains)) == 1


def test_shared_descriptions_are_grouped_without_comparing() -> None:
    a, b = described(chain()), described(chain(), np.float32(0))
    assert classify([a] * 4, [2, 3, 5, 7], NONE)[0].members == (2, 3, 5, 7)
    assert [c.members for c in classify([a, b, a, b, b], range(5), NONE)] == [(0, 2), (1, 3, 4)]


@pytest.mark.parametrize("seed", range(12))
def test_any_mixture_is_grouped_as_comparing_one_by_one_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    changes: list[Callable[[ArrayMeta], ArrayMeta]] = [
        replace,
        *(OTHERS[n] for n in rng.choice(list(OTHERS), 2, replace=False)),
    ]
    metas = []
    for _ in range(60):
        meta = replace(described(chain()), attributes={"units": "K", "actual_range": [int(rng.integers(3)), 9]})
        meta = changes[int(rng.choice(3, p=[0.9, 0.05, 0.05]))](meta)
        metas.append(replace(meta, shape=(int(rng.integers(28, 32)), *meta.shape[1:])))
    wanted: list[list[int]] = []
    for i, meta in enumerate(metas):
        home = next((g for g in wanted if alike(metas[g[0]], meta, frozenset({0}))), None)
        if home is None:
            wanted.append(home := [])
        home.append(i)
    found = classify(metas, range(60), frozenset({0}), KnownEncodings())
    assert [list(c.members) for c in found] == wanted
    for cls in found:
        assert cls.meta is metas[cls.members[0]]
        assert cls.attributes in ([metas[i].attributes for i in cls.members], [cls.meta.attributes])
        assert cls.documents or all(metas[i].attributes == cls.meta.attributes for i in cls.members)


def test_lengths_along_free_axes_do_not_count() -> None:
    metas = [described(chain()), replace(described(chain()), shape=(3, 6)), described(chain())]
    (one,) = classify(metas, range(3), frozenset({0}))
    assert not one.even
    assert len(classify(metas, range(3), frozenset({1}))) == 2


def test_attributes_that_mean_nothing_make_no_class_of_their_own() -> None:
    metas = [replace(described(chain()), attributes={"units": "K", "actual_range": [i, i + 1.0]}) for i in range(600)]
    (one,) = classify(metas, range(100, 700), NONE)
    assert one.attributes == [m.attributes for m in metas]
    assert set(one.documents) == set(range(100, 700))
    metas[500] = replace(metas[500], attributes={**metas[500].attributes, "scale_factor": 2.0})
    first, second = classify(metas, range(600), NONE)
    assert second.members == (500,)
    assert second.attributes == [metas[500].attributes]
    assert first.attributes == [m.attributes for i, m in enumerate(metas) if i != 500]


@pytest.mark.parametrize("value", [float("nan"), [1, float("nan")], {"a": [float("nan")]}, True])
def test_equal_values_that_are_not_one_object(value: object) -> None:
    def again() -> object:
        return json.loads(json.dumps(value)) if value is not True else 1.0

    metas = [replace(described(chain()), attributes={"missing_value": again()}) for _ in range(3)]
    metas.append(replace(metas[0], shape=(3, 6), attributes={"missing_value": again()}))
    (one,) = classify(metas, range(4), frozenset({0}))
    assert one.members == (0, 1, 2, 3)


def attributes_of(group: VirtualGroup, path: str) -> object:
    return array_at(group, path).meta.attributes


@pytest.mark.parametrize("policy", ["common", "first"])
@pytest.mark.parametrize("uneven", [False, True])
def test_common_attributes_of_the_result(policy: str, uneven: bool) -> None:
    groups = []
    for i in range(4):
        steps = 2 + (uneven and i == 2)
        attributes = {"units": "K", "actual_range": [i, 7], "source": "model"}
        values = inline_array(np.full((steps, 3), i, "f4"), ("time", "x"), attributes)
        time = inline_array(np.arange(steps) + 10 * i, ("time",), {"units": "days since 2000-01-01", "n": i})
        x = inline_array(np.arange(3), ("x",), {"units": "m", "actual_range": [0, i]})
        groups.append(VirtualGroup(GroupMeta(), {"v": values, "time": time, "x": x}))
    prepared = ba.prepare_combine(groups, "time", attributes=policy)
    result = prepared.result()
    kept = {"actual_range": [0, 7]} if policy == "first" else {}
    assert attributes_of(result, "v") == {"units": "K", "source": "model", **kept}
    x_kept = {"actual_range": [0, 0]} if policy == "first" else {}
    assert attributes_of(result, "x") == {"units": "m", **x_kept}
    assert {f.variable for f in prepared.findings if f.code == "attributes"} == {"v", "x", "time"}
    opened = ba.open(result, path="v")
    assert isinstance(opened, Array)
    np.testing.assert_array_equal(opened[:, 0], np.repeat(range(4), [2, 2, 2 + uneven, 2]))


def stored(codec: CodecSpec, **attributes: object) -> VirtualGroup:
    group = VirtualGroup(arrays={"v": inline_array(np.zeros((2, 3), "f4"), ("time", "x"), attributes)})
    meta = replace(group.arrays["v"].meta, encodings=(Encoding((CodecSpec("bytes", {"endian": "little"}), codec)),))
    return replace(group, arrays={"v": replace(group.arrays["v"], meta=meta)})


def test_raw_deflate_streams_and_wrapped_ones_are_two_encodings() -> None:
    raw, wrapped, other = (
        stored(CodecSpec("numcodecs.imagecodecs_deflate", {"level": level, "raw": raw}))
        for level, raw in ((1, True), (1, False), (9, True))
    )
    two = ba.combine([raw, wrapped], "time", inline_uneven=0)["v"]
    one = ba.combine([raw, other], "time")["v"]
    assert isinstance(two, VirtualArray)
    assert isinstance(one, VirtualArray)
    assert len(two.meta.encodings) == 2
    assert len(one.meta.encodings) == 1


@pytest.mark.parametrize(
    ("values", "kept"),
    [((2, 2.0), {}), ((True, 1), {}), ((2, 2), {"note": 2}), ((float("nan"), float("nan")), {"note": float("nan")})],
)
def test_attributes_are_common_when_their_types_are(values: tuple[object, ...], kept: dict[str, object]) -> None:
    """Those that say what numbers mean are common when their numbers are, however a writer spelled them."""
    codec = CodecSpec("numcodecs.zlib", {"level": 1})
    files = [stored(codec, note=v, scale_factor=f, flag_values=[0, f]) for v, f in zip(values, (2, 2.0), strict=True)]
    found = attributes_of(ba.combine(files, "time"), "v")
    assert repr(found) == repr({**kept, "scale_factor": 2, "flag_values": [0, 2]})
