"""However a JSON map is spelled and wherever the windows of the scan end, it says the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.documents import zarray
from tests.maps import URLS

from byteatlas.manifest.json import read as json_read
from byteatlas.manifest.json.text import reader as json_reader
from byteatlas.manifest.json.text import tokens as json_tokens
from byteatlas.manifest.model import Inline, Missing, Remote, VirtualGroup, reference_at
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.references import read_references
from byteatlas.types import ByteRange

PARSED, SEARCHED = MapReadOptions(), MapReadOptions(small_text=0)
"""Small texts are parsed whole, long ones searched: both ways must say the same."""
COUNTS = (4, 12)
ZARRAY = zarray(list(COUNTS), [1, 1])
VALUES = st.one_of(
    st.tuples(URLS, st.integers(0, 2**40), st.integers(1, 2**31)).map(list),
    st.tuples(URLS, st.integers(0, 2**40), st.integers(1, 2**31)).map(list),
    st.tuples(URLS, st.integers(0, 2**40), st.integers(1, 2**31)).map(list),
    st.tuples(URLS).map(list),
    st.text(st.characters(codec="utf-8"), max_size=30).filter(lambda t: not t.startswith("base64:")),
    st.sampled_from(['","x/0.0":["/wrong",0,1],"', '{"x/0.0":["/wrong",0,1]}', "\\", '\\"', ":[", "]},", "x" * 400]),
)
OBJECTS = st.sampled_from([{"a": 1}, {"x/0.1": ["/wrong", 0, 1], "b": {"c": ["d", {}]}}, {"y/.zarray": {"shape": []}}])


@st.composite
def maps(draw: st.DrawFn) -> tuple[bytes, dict[tuple[str, int, int], Any]]:
    """A map's text, and what its chunks are."""
    chunks: dict[tuple[str, int, int], Any] = {}
    entries: list[tuple[str, Any]] = [(".zgroup", '{"zarr_format":2}'), ("stray", draw(VALUES)), ("odd", draw(OBJECTS))]
    for name in ("x", "g/é y"):
        entries.append((f"{name}/.zarray", draw(st.sampled_from([json.dumps(ZARRAY), ZARRAY]))))
        entries.append(
            (f"{name}/.zattrs", draw(st.sampled_from(['{"note": "\\"x/0.0\\":[1]"}', {"n": {"x/1.1": []}}])))
        )
        for place in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11)), unique=True, max_size=40)):
            chunks[name, *place] = value = draw(VALUES)
            entries.append((f"{name}/{place[0]}.{place[1]}", value))
    if draw(st.booleans()):
        entries = draw(st.permutations(entries))
    spelled: dict[str, Any] = {
        "separators": draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")])),
        "ensure_ascii": draw(st.booleans()),
        "indent": draw(st.sampled_from([None, None, None, 0, 2])),
    }
    form = draw(st.sampled_from(["v0", "v1", "refs first"]))
    refs = dict(entries)
    whole = refs if form == "v0" else {"version": 1, "refs": refs} if form == "v1" else {"refs": refs, "version": 1}
    text = json.dumps(whole, **spelled)
    if draw(st.booleans()):
        text = text.replace("/", "\\/")  # as ujson writes
    return draw(st.sampled_from(["", " \n", "\ufeff"])).encode() + text.encode(), chunks


def meaning(value: Any) -> Any:
    match value:
        case str():
            return Inline(value.encode())
        case [url]:
            return Remote(url, None)
        case [url, offset, length]:
            return Remote(url, ByteRange(offset, length))


@given(maps(), st.sampled_from([96, 300, 1000, 1 << 22, None]), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_any_spelling_says_the_same(made: tuple[bytes, Any], window: int | None, data: st.DataObject) -> None:
    text, chunks = made
    with pytest.MonkeyPatch.context() as patch:
        if window is not None:
            patch.setattr(json_reader, "WINDOW", window)
            patch.setattr(json_tokens, "WINDOW", window)
        patch.setattr(json_read, "LOOKED_UP_SINGLY", 3)
        node = read_references(text, options=PARSED if window is None else SEARCHED)
        assert isinstance(node, VirtualGroup)
        assert {path for path, _ in node.walk()} == {"x", "g", "g/é y"}
        wanted = data.draw(st.lists(st.tuples(st.sampled_from(["x", "g/é y"]), st.integers(0, 47)), max_size=3))
        for name, flat in wanted:  # found by searching the text
            place = tuple(int(i) for i in np.unravel_index(flat, COUNTS))
            found = reference_at(node[name].manifest, place)  # type: ignore[union-attr]
            assert found == (meaning(chunks[name, *place]) if (name, *place) in chunks else Missing())
        for name in ("x", "g/é y"):  # found by reading all of it
            loaded = node[name].manifest.load()  # type: ignore[union-attr]
            for flat in range(48):
                place = tuple(int(i) for i in np.unravel_index(flat, COUNTS))
                expected = meaning(chunks[name, *place]) if (name, *place) in chunks else Missing()
                assert reference_at(loaded, place) == expected


@pytest.mark.parametrize("window", [300, 1 << 22, None])
def test_arrays_that_take_turns(window: int | None) -> None:
    """Maps made file by file: each array's chunks stand between those of all others, with every kind of key."""
    v3 = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [3, 40],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    square = {**ZARRAY, "shape": [3, 40]}
    documents = {
        "a/.zarray": square,
        "b/.zarray": {**square, "dimension_separator": "/"},
        "c/c/zarr.json": {**v3, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}},
        "d é/zarr.json": {**v3, "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}},
        "s/.zarray": {**square, "shape": [], "chunks": []},
    }
    forms = {"a": "a/{}.{}", "b": "b/{}/{}", "c/c": "c/c/c.{}.{}", "d é": "d é/c/{}/{}"}
    refs: dict[str, Any] = {k: json.dumps(v) for k, v in documents.items()}
    for i in range(3):
        for j in range(40):
            for number, form in enumerate(forms.values()):
                refs[form.format(i, j)] = [f"/f{number}", i * 1000 + j, 4 + number]
            if (i, j) == (1, 20):
                refs["s/0"] = ["/s", 5, 4]
            refs[f"stray/{i}/{j}"] = ["/nothing", 0, 1]
            refs[f"c/c/note{j}"] = ["/nothing", 0, 1]
    with pytest.MonkeyPatch.context() as patch:
        if window is not None:
            patch.setattr(json_reader, "WINDOW", window)
            patch.setattr(json_tokens, "WINDOW", window)
        text = json.dumps(refs, ensure_ascii=False).replace("/", "\\/").encode()
        node = read_references(text, options=PARSED if window is None else SEARCHED)
        assert isinstance(node, VirtualGroup)
        for number, path in enumerate(forms):
            loaded = node[path].manifest.load()  # type: ignore[union-attr]
            assert loaded.offset.tolist() == [i * 1000 + j for i in range(3) for j in range(40)]
            assert set(loaded.length.tolist()) == {4 + number}
            assert {loaded.sources[k].url for k in loaded.source.tolist()} == {f"/f{number}"}
        assert reference_at(node["s"].manifest, ()) == Remote("/s", ByteRange(5, 4))  # type: ignore[union-attr]
