"""Templates and generated references, read and written; Jinja2 through fsspec is the oracle."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents import zarray
from tests.maps import array, references, same

from byteatlas.array import open_node
from byteatlas.errors import InvalidMetadata
from byteatlas.manifest.json.templates.expressions import Templates
from byteatlas.manifest.model import Remote, VirtualArray, VirtualGroup
from byteatlas.manifest.options import MapReadOptions, MapWriteOptions
from byteatlas.manifest.references import read_references, write_references
from byteatlas.types import ByteRange

ZARRAY = zarray([40, 6], [4, 2])


def map_of(refs: dict[str, Any] | None = None, **top: Any) -> dict[str, Any]:
    return {
        "version": 1,
        **top,
        "refs": {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(ZARRAY), **(refs or {})},
    }


def x_of(document: dict[str, Any], **options: Any) -> dict[tuple[int, ...], Any]:
    node = read_references(document, options=MapReadOptions(**options))
    assert isinstance(node, VirtualGroup)
    found = references(VirtualArray(node.arrays["x"].meta, node.arrays["x"].manifest.load()))
    return {k: (r.url, r.range) if isinstance(r, Remote) else r for k, r in found.items()}


def by_fsspec(document: dict[str, Any]) -> dict[str, Any]:
    reference = pytest.importorskip("fsspec.implementations.reference")
    pytest.importorskip("jinja2")
    made = reference.ReferenceFileSystem(document, simple_templates=False, remote_protocol="file")
    return {k: v for k, v in made.references.items() if k.startswith("x/") and not k.startswith("x/.")}


def check_like_fsspec(document: dict[str, Any]) -> None:
    theirs = by_fsspec(document)
    ours = {f"x/{i}.{j}": [u, *((r.offset, r.length) if r else ())] for (i, j), (u, r) in x_of(document).items()}
    assert ours == theirs


def test_templates_of_the_specification() -> None:
    templates = {"u": "server.domain/path", "f": "{{c}}"}
    refs = {
        "x/0.0": ["http://target_url", 10000, 100],
        "x/0.1": ["http://{{u}}", 10000, 100],
        "x/0.2": ["http://{{f(c='text')}}", 10000, 100],
    }
    document = map_of(refs, templates=templates)
    check_like_fsspec(document)
    assert x_of(document)[0, 2][0] == "http://text"


def test_gen_of_the_specification() -> None:
    gen = [
        {
            "key": "x/{{i}}.0",
            "url": "http://{{u}}_{{i}}",
            "offset": "{{(i + 1) * 1000}}",
            "length": "1000",
            "dimensions": {"i": {"stop": 5}},
        }
    ]
    document = map_of(templates={"u": "server.domain/path"}, gen=gen)
    check_like_fsspec(document)
    assert x_of(document)[4, 0] == ("http://server.domain/path_4", ByteRange(5000, 1000))


@pytest.mark.parametrize(
    "entry",
    [
        {"key": "x/{{i}}.{{j}}", "dimensions": {"i": {"start": 1, "stop": 9, "step": 3}, "j": [0, 2]}},
        {
            "key": "x/{{i // 2}}.{{j % 3}}",
            "dimensions": {"i": [0, 2], "j": [2, 4]},
            "offset": "{{i}}",
            "length": "7",
        },
        {"key": "x/{{i + 2}}.{{j}}", "url": "/d{{j}}", "dimensions": {"i": [0, 3], "j": {"stop": 3}}},
        {
            "key": "x/{{ 9 - i }}.1",
            "dimensions": {"i": {"stop": 4}},
            "offset": "{{10 ** 3 + i * -2 + 99}}",
            "length": "{{i+1}}",
        },
        {"key": "x/{{i}}.0", "url": "/{{'%04d' % i}}.nc", "dimensions": {"i": {"stop": 4}}},
        {"key": "x/{{i}}.0", "url": "/{{n}}/{{ i ~ 'a' }}", "dimensions": {"i": {"stop": 4}}},
        {"key": "x/{{i}}.0", "url": "/{{g(a=i, b='z')}}", "dimensions": {"i": {"stop": 4}}},
        {"key": "{{v}}/{{i}}.0", "dimensions": {"i": {"stop": 4}}},
        {
            "key": "x/{{i}}.{{j}}",
            "dimensions": {"j": {"stop": 3}, "i": {"stop": 10}},
            "offset": "{{(i*3+j)*32}}",
            "length": "32",
        },
        {"key": "x/0.0", "dimensions": {"i": {"stop": 1}}, "offset": "{{ 7 }}", "length": "{{8}}"},
    ],
)
def test_gen_like_jinja(entry: dict[str, Any]) -> None:
    templates = {"n": "name", "v": "x", "g": "{{a}}-{{b}}"}
    check_like_fsspec(map_of(templates=templates, gen=[{"url": "/data", **entry}]))


EXPRESSIONS = st.recursive(
    st.one_of(st.integers(0, 50).map(str), st.sampled_from(["i", "j"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(lambda t: f"{t[0]} {t[1]} {t[2]}"),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"-{e}"),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "text", ["a {{- 1}} b", "a {{ 1 -}} b", "{{-1}}", "{{ -1}}", "{{+2}}", "a  {{-i-}}  b", "{{i}} {{-i}}"]
)
def test_white_space_control_like_jinja(text: str) -> None:
    jinja2 = pytest.importorskip("jinja2")
    assert Templates().fill(text, "map", {"i": 3}) == jinja2.Template(text).render(i=3)


@given(EXPRESSIONS, st.integers(-20, 20), st.integers(-20, 20))
@settings(max_examples=150, deadline=None)
def test_arithmetic_like_jinja(expression: str, i: int, j: int) -> None:
    jinja2 = pytest.importorskip("jinja2")
    text = "{{" + expression + "}}"
    try:
        expected = jinja2.Template(text).render(i=i, j=j)
    except ZeroDivisionError:
        with pytest.raises(InvalidMetadata):
            Templates().fill(text, "map", {"i": i, "j": j})
        return
    assert Templates().fill(text, "map", {"i": i, "j": j}) == expected


@given(EXPRESSIONS)
@settings(max_examples=60, deadline=None)
def test_columns_like_single_values(expression: str) -> None:
    """Whole columns give what one value after the other gives."""
    gen = {"url": "/d", "offset": "{{(" + expression + ") * (" + expression + ")}}", "length": "5"}
    spans = {"i": {"stop": 10}, "j": {"stop": 3}}
    fast = map_of(gen=[{**gen, "key": "x/{{i}}.{{j}}", "dimensions": spans}])
    slow = map_of(gen=[{**gen, "key": "{{'x'}}/{{i}}.{{j}}", "dimensions": spans}])
    try:
        expected = x_of(slow)
    except InvalidMetadata:
        with pytest.raises(InvalidMetadata):
            x_of(fast)
        return
    assert x_of(fast) == expected


def test_without_templates_braces_are_text() -> None:
    assert x_of(map_of({"x/0.0": ["/a/{{b}}.nc", 0, 8]}))[0, 0][0] == "/a/{{b}}.nc"


def test_a_million_generated_references_are_quick() -> None:
    big = json.dumps({**ZARRAY, "shape": [2000, 1000], "chunks": [1, 2]})
    gen = [
        {
            "key": "x/{{i}}.{{j}}",
            "url": "/d",
            "offset": "{{100 + (i * 500 + j) * 8}}",
            "length": "8",
            "dimensions": {"i": {"stop": 2000}, "j": {"stop": 500}},
        }
    ]
    started = time.process_time()
    node = read_references(map_of({"x/.zarray": big}, gen=gen))
    assert isinstance(node, VirtualGroup)
    loaded = node.arrays["x"].manifest.load()
    assert loaded.offset[-1] == 100 + 999_999 * 8
    assert time.process_time() - started < 5
    with pytest.raises(InvalidMetadata, match="limit"):
        read_references(map_of({"x/.zarray": big}, gen=gen), options=MapReadOptions(most_generated=10)).arrays[  # type: ignore[union-attr]
            "x"
        ].manifest.load()


def regular_tree() -> VirtualGroup:
    folder = "s3://bucket/archive/"
    contiguous = array((40, 6), (4, 2), url=folder + "a.nc")
    item = 4 * 2 * 4
    files = {
        (i, j): (f"{folder}year-{i // 5}.nc", 1000 + ((i % 5) * 7 + j) * item, item)
        for i in range(10)
        for j in range(3)
    }
    broken = {**files, (3, 1): (folder + "x.nc", 5, item), (7, 2): b"inline" * 4}
    gone = {k: v for k, v in files.items() if k != (4, 0)}
    backwards = {(i, j): ("/else/where.nc", 10_000 - (i * 3 + j) * item, item) for i in range(10) for j in range(3)}
    shapes = {"files": files, "broken": broken, "gone": gone, "backwards": backwards}
    arrays = {name: array((40, 6), (4, 2), references=refs) for name, refs in shapes.items()}
    return VirtualGroup(arrays={"contiguous": contiguous, **arrays, "tiny": array((4,), (4,))})


@pytest.mark.parametrize("relative", [False, True])
def test_regular_maps_are_written_short(tmp_path: Path, relative: bool) -> None:
    tree = regular_tree()
    write_references(tree, tmp_path / "long.json", options=MapWriteOptions(relative=relative))
    write_references(tree, tmp_path / "short.json", options=MapWriteOptions(templates=True, relative=relative))
    assert (tmp_path / "short.json").stat().st_size < (tmp_path / "long.json").stat().st_size / 1.5
    written = json.loads((tmp_path / "short.json").read_text())
    assert len([g for g in written["gen"] if g["key"].startswith("contiguous/")]) == 1
    assert len([g for g in written["gen"] if g["key"].startswith("files/")]) == 2
    assert not [k for k in written["refs"] if k.startswith(("contiguous/0", "files/0"))]
    same(tree, read_references(tmp_path / "short.json"))
    same(tree, read_references(tmp_path / "long.json"))


def test_short_maps_are_read_by_fsspec(tmp_path: Path) -> None:
    reference = pytest.importorskip("fsspec.implementations.reference")
    pytest.importorskip("jinja2")
    tree = regular_tree()
    write_references(tree, tmp_path / "long.json")
    write_references(tree, tmp_path / "short.json", options=MapWriteOptions(templates=True))
    found = []
    for name in ("long.json", "short.json"):
        document = json.loads((tmp_path / name).read_text())
        made = reference.ReferenceFileSystem(document, simple_templates=False, remote_protocol="file")
        found.append(dict(made.references))
    assert found[0] == found[1]


def test_braces_stay_outside_of_templates(tmp_path: Path) -> None:
    refs = {(i,): ("s3://bucket/folder/{{x}}.nc", i * 8, 8) for i in range(20)}
    tree = VirtualGroup(arrays={"x": array((20,), (1,), "<i8", references=refs)})
    write_references(tree, tmp_path / "m.json", options=MapWriteOptions(templates=True))
    same(tree, read_references(tmp_path / "m.json"))


def test_values_through_a_generated_map(tmp_path: Path) -> None:
    values = np.arange(100, dtype="<i4")
    (tmp_path / "d.bin").write_bytes(bytes(12) + values.tobytes())
    refs = {(i,): (str(tmp_path / "d.bin"), 12 + 40 * i, 40) for i in range(10)}
    write_references(
        VirtualGroup(arrays={"x": array((100,), (10,), "<i4", references=refs)}),
        tmp_path / "m.json",
        options=MapWriteOptions(templates=True),
    )
    np.testing.assert_array_equal(open_node(read_references(tmp_path / "m.json"), path="x")[...], values)  # type: ignore[index]
