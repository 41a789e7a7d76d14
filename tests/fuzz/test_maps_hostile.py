"""Hostile maps: each is a clear error (or plainly harmless) in bounded time and memory."""

from __future__ import annotations

import base64
import gzip
import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.documents import zarray

from byteatlas.errors import ByteatlasError, Forbidden
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import Remote, VirtualArray, VirtualGroup, VirtualNode, reference_at
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.references import read_references

ZARRAY = zarray([4], [2])
GROUP = '{"zarr_format":2}'
PARSED, SEARCHED = MapReadOptions(), MapReadOptions(small_text=0)


def v1(refs: dict[str, Any] | None = None, **top: Any) -> bytes:
    base = {".zgroup": GROUP, "x/.zarray": json.dumps(ZARRAY)}
    return json.dumps({"version": 1, "refs": {**base, **(refs or {})}, **top}).encode()


def map_of_zarray(**more: Any) -> bytes:
    return v1({"x/.zarray": json.dumps({**ZARRAY, **more})})


def exhaust(node: VirtualNode) -> None:
    """Look at everything that the map says."""
    if isinstance(node, VirtualArray):
        node.manifest.rows(np.zeros(1, np.int64))
        node.manifest.load()
        return
    for _, child in node.walk():
        if isinstance(child, VirtualArray):
            exhaust(child)


def gen(**entry: Any) -> bytes:
    base = {"key": "x/{{i}}", "url": "/d", "offset": "{{i}}", "length": "1", "dimensions": {"i": {"stop": 2}}}
    return v1(gen=[{**base, **entry}])


LOOP = {"f": "{{g(a='x')}}", "g": "{{f(a='x')}}", "u": "{{u}}"}
DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "white space": b"  \n",
    "not JSON": b"hello",
    "a list": b"[1, 2]",
    "a number": b"17",
    "empty object": b"{}",
    "an object as a key": b'{{"version": 1}: 2}',
    "no comma behind the URL": v1()[:-2] + b',"x/0":["/d" 0,8],"x/1":["/d",0,8]}}',
    "no refs": b'{"version": 1}',
    "refs a list": b'{"version": 1, "refs": []}',
    "refs null": b'{"version":1,"refs":null}',
    "refs a string": b'{"version":1,"refs":"x"}',
    "version 2": v1().replace(b'"version": 1', b'"version": 2'),
    "version true": v1().replace(b'"version": 1', b'"version": true'),
    "two refs": v1()[:-1] + b', "refs": {}}',
    "two versions": b'{"version": 1, ' + v1()[1:],
    "text behind the end": v1() + b"{}",
    "cut short": v1({"x/0": ["/d", 0, 8]})[:-9],
    "cut in a string": v1()[:60],
    "no metadata": b'{"version":1,"refs":{"x/0":["/d",0,8]}}',
    "deep nesting": b'{"version":1,"refs":{"a":' + DEEP.encode() + b"}}",
    "deep metadata": v1({"x/.zattrs": '{"a":' + DEEP + "}"}),
    "deep objects": v1()[:-2] + b',"x/.zattrs":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}}",
    "not UTF-8 key": v1()[:-2] + b',"x/\xff\xfe":["/d",0,8]}}',
    "not UTF-8 url": v1()[:-2] + b',"x/0":["/\xff\xfe",0,8]}}',
    "not UTF-8 text": v1()[:-2] + b',"x/0":"\xff\xfe"}}',
    "lone surrogate": v1({"x/0": "\ud800"}),
    "duplicate chunk": v1()[:-2] + b',"x/0":["/d",0,8],"x/0":["/e",0,8]}}',
    "duplicate inline chunk": v1()[:-2] + b',"x/0":"abc","x/0":["/e",0,8]}}',
    "duplicate metadata": v1()[:-2] + b',"x/.zarray":"{}"}}',
    "negative offset": v1({"x/0": ["/d", -1, 8]}),
    "negative length": v1({"x/0": ["/d", 0, -8]}),
    "offset beyond 64 bits": v1({"x/0": ["/d", 2**64, 8]}),
    "offset plus length beyond 63 bits": v1({"x/0": ["/d", 2**63 - 4, 8]}),
    "astronomic offset": v1({"x/0": ["/d", 10**400, 8]}),
    "fraction": v1({"x/0": ["/d", 1.5, 8]}),
    "exponent": v1()[:-2] + b',"x/0":["/d",1e3,8]}}',
    "boolean offset": v1({"x/0": ["/d", True, 8]}),
    "text offset": v1({"x/0": ["/d", "0", 8]}),
    "two items": v1({"x/0": ["/d", 0]}),
    "four items": v1({"x/0": ["/d", 0, 8, 1]}),
    "no items": v1({"x/0": []}),
    "null reference": v1({"x/0": None}),
    "number reference": v1({"x/0": 7}),
    "null url": v1({"x/0": [None, 0, 8]}),
    "number url": v1({"x/0": [5, 0, 8]}),
    "nested list": v1({"x/0": [["/d"], 0, 8]}),
    "bad base64": v1({"x/0": "base64:***"}),
    "metadata a list": v1({"x/.zarray": "[]"}),
    "metadata a number": v1({"x/.zarray": 5}),
    "metadata not JSON": v1({"x/.zarray": "{"}),
    "other key encoding": v1({"x/0": ["/d", 0, 8], "x/c/1": ["/d", 0, 8]}),
    "array in an array": v1({"x/y/.zarray": json.dumps(ZARRAY)}),
    "climbing path": v1({"../y/.zarray": json.dumps(ZARRAY)}),
    "empty path part": v1({"a//y/.zarray": json.dumps(ZARRAY)}),
    "many levels": v1({"a/" * 5000 + "y/.zarray": json.dumps(ZARRAY)}),
    "huge shape": map_of_zarray(shape=[10**30], chunks=[1]),
    "huge grid": map_of_zarray(shape=[2**62], chunks=[1]),
    "negative shape": map_of_zarray(shape=[-4]),
    "zero chunk": map_of_zarray(chunks=[0]),
    "bad dtype": map_of_zarray(dtype="<i400000000000"),
    "object dtype": map_of_zarray(dtype="|O"),
    "templates a list": v1(templates=[1]),
    "template a number": v1(templates={"u": 1}),
    "template loop": v1({"x/0": ["{{f(a='x')}}", 0, 8]}, templates=LOOP),
    "template of itself": v1({"x/0": ["{{u}}", 0, 8]}, templates=LOOP),
    "unknown template": v1({"x/0": ["{{nope}}", 0, 8]}, templates={"u": "/d"}),
    "unclosed template": v1({"x/0": ["{{u", 0, 8]}, templates={"u": "/d"}),
    "template attribute access": v1({"x/0": ["{{u.__class__}}", 0, 8]}, templates={"u": "/d"}),
    "template statement": v1({"x/0": ["{{ [].append }}", 0, 8]}, templates={"u": "/d"}),
    "growing template": v1(
        {"x/0": ["{{a}}", 0, 8]},
        templates={**{chr(97 + i): f"{{{{{chr(98 + i)}}}}}" * 10 for i in range(20)}, "u": "x" * 99},
    ),
    "huge template": v1(templates={"u": "x" * 10**6}),
    "gen an object": v1(gen={"a": 1}),
    "gen without dimensions": v1(gen=[{"key": "x/0", "url": "/d"}]),
    "gen bomb": gen(dimensions={c: {"stop": 10**6} for c in "ijk"}),
    "gen endless": gen(dimensions={"i": {"stop": 2**62}}),
    "gen step zero": gen(dimensions={"i": {"stop": 5, "step": 0}}),
    "gen text dimension": gen(dimensions={"i": {"stop": "5"}}),
    "gen power": gen(offset="{{9**9**9**9}}"),
    "gen shift by product": gen(offset="{{" + "*".join(["99999999999"] * 50) + "}}"),
    "gen division by zero": gen(offset="{{1 // i}}"),
    "gen long repeat": gen(url="{{'x' * 10000000}}"),
    "gen wide format": gen(url="{{'%999999999d' % i}}"),
    "gen negative": gen(offset="{{0 - i - 1}}"),
    "gen not a number": gen(offset="abc"),
    "gen deep parentheses": gen(offset="{{" + "(" * 400 + "1" + ")" * 400 + "}}"),
    "gen many minus": gen(offset="{{" + "-" * 900 + "1}}"),
    "gen offset alone": v1(gen=[{"key": "x/0", "url": "/d", "offset": "1", "dimensions": {"i": {"stop": 1}}}]),
    "gen collides": v1({"x/0": ["/d", 0, 8]}, gen=[{"key": "x/0", "url": "/d", "dimensions": {"i": {"stop": 1}}}]),
    "gzip bomb": gzip.compress(b" " * (64 << 20)),
    "broken gzip": gzip.compress(v1())[:-9],
    "broken zstd": b"\x28\xb5\x2f\xfd" + b"\x00" * 40,
    "broken bz2": b"BZh9" + b"\x00" * 40,
    "broken xz": b"\xfd7zXZ\x00" + b"\x00" * 40,
    "byteatlas table a list": v1(byteatlas=[]),
    "byteatlas table of nonsense": v1(byteatlas={"sources": [[1, 2]]}),
    "consolidated nonsense": v1({".zmetadata": '{"metadata": 3}'}),
}


@pytest.mark.parametrize("options", [PARSED, SEARCHED], ids=["parsed", "searched"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json(name: str, options: MapReadOptions) -> None:
    tracemalloc.start()
    started = time.process_time()
    try:
        with pytest.raises(ByteatlasError) as caught:
            exhaust(read_references(HOSTILE[name], options=options))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert str(caught.value)
    assert len(str(caught.value)) < 2000
    assert time.process_time() - started < 5
    assert peak < 256 << 20


@pytest.mark.parametrize("options", [PARSED, SEARCHED], ids=["parsed", "searched"])
@pytest.mark.parametrize(
    ("refs", "expected"),
    [
        ({"x/9": ["/d", 0, 8]}, "outside the grid, as a shrunk array leaves behind"),
        ({"y/0": ["/d", 0, 8]}, "belongs to no array"),
        ({"x/00": ["/d", 0, 8]}, "not a chunk's key"),
        ({"x/-1": ["/d", 0, 8]}, "not a chunk's key"),
        ({"x/0 ": ["/d", 0, 8]}, "not a chunk's key"),
        ({"x/٠": ["/d", 0, 8]}, "a digit, but not an ASCII one"),
        (
            {"x/.zattrs": json.dumps({"x/0": ["/e", 0, 8], 'a":["b': '","x/0":["/e",0,8],"'})},
            "text that looks like keys",
        ),
    ],
)
def test_what_is_no_chunk_is_no_chunk(refs: dict[str, Any], expected: str, options: MapReadOptions) -> None:
    if "x/00" in refs:
        with pytest.raises(ByteatlasError):
            exhaust(read_references(v1(refs), options=options))
        return
    node = read_references(v1(refs), options=options)
    assert isinstance(node, VirtualGroup)
    manifest = node.arrays["x"].manifest
    assert manifest.rows(np.arange(2)).source.tolist() == [-1, -1], expected
    assert manifest.load().source.tolist() == [-1, -1], expected


PARQUET_ZMETADATA = {"metadata": {".zgroup": {"zarr_format": 2}, "x/.zarray": ZARRAY}, "record_size": 10}


def parquet(folder: Path, **columns: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "x").mkdir(exist_ok=True)
    (folder / ".zmetadata").write_text(json.dumps(PARQUET_ZMETADATA))
    base: dict[str, Any] = {"path": ["/d", "/d"], "offset": [0, 8], "size": [8, 8], "raw": pa.nulls(2, pa.binary())}
    made = {k: v for k, v in {**base, **columns}.items() if v is not None}
    pq.write_table(pa.table(made), folder / "x" / "refs.0.parq")
    return folder


def test_parquet_baseline(tmp_path: Path) -> None:
    node = read_references(parquet(tmp_path / "m"))
    assert isinstance(node, VirtualGroup)
    assert isinstance(reference_at(node.arrays["x"].manifest, (1,)), Remote)


@pytest.mark.parametrize(
    "columns",
    [
        {"offset": [-1, 8]},
        {"size": [8, -8]},
        {"offset": [2**63 - 4, 8]},
        {"offset": [0.5, 8.0]},
        {"offset": ["a", "b"]},
        {"size": None},
        {"path": None},
        {"path": [1, 2]},
        {"path": ["", "/d"]},
        {"raw": [1, 2]},
        {"path": ["/d"], "offset": [0], "size": [8], "raw": pa.nulls(1)},
        {"path": [b"\xff\xfe", b"\xff"]},
    ],
)
def test_hostile_parquet_columns(tmp_path: Path, columns: dict[str, Any]) -> None:
    with pytest.raises(ByteatlasError):
        exhaust(read_references(parquet(tmp_path / "m", **columns)))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b"{" * 100_000,
        b'{"metadata": []}',
        json.dumps({**PARQUET_ZMETADATA, "record_size": 0}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "record_size": -1}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "record_size": "10"}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "record_size": 10**30}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "record_size": True}).encode(),
        json.dumps({"metadata": PARQUET_ZMETADATA["metadata"]}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "metadata": {}}).encode(),
        json.dumps({**PARQUET_ZMETADATA, "record_size": 1}).encode(),  # so a second part is expected
        b'{"metadata": {"x/.zarray": "nonsense"}, "record_size": 10}',
    ],
)
def test_hostile_zmetadata(tmp_path: Path, text: bytes) -> None:
    folder = parquet(tmp_path / "m")
    (folder / ".zmetadata").write_bytes(text)
    with pytest.raises(ByteatlasError):
        exhaust(read_references(folder))


@pytest.mark.parametrize("damage", ["absent", "empty", "cut", "garbage", "flipped"])
def test_damaged_part_is_never_fill(tmp_path: Path, damage: str) -> None:
    folder = parquet(tmp_path / "m")
    part = folder / "x" / "refs.0.parq"
    good = part.read_bytes()
    match damage:
        case "absent":
            part.unlink()
        case "empty":
            part.write_bytes(b"")
        case "cut":
            part.write_bytes(good[: len(good) // 2])
        case "garbage":
            part.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
        case _:
            part.write_bytes(good[:-40] + bytes(b ^ 255 for b in good[-40:]))
    node = read_references(folder)
    assert isinstance(node, VirtualGroup)
    with pytest.raises(ByteatlasError):
        node.arrays["x"].manifest.rows(np.zeros(1, np.int64))


@given(cut=st.integers(0, 400), junk=st.binary(max_size=6), span=st.integers(0, 12))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_map_or_an_error(cut: int, junk: bytes, span: int) -> None:
    good = v1({"x/0": ["/d", 0, 8], "x/1": "base64:" + base64.b64encode(bytes(8)).decode()}, templates={"u": "/d"})
    at = cut % len(good)
    text = good[:at] + junk + good[at + span :]
    assert outcome(text, PARSED) == outcome(text, SEARCHED)


def outcome(text: bytes, options: MapReadOptions) -> object:
    """What a map says of its array, or the kind of its error."""
    try:
        node = read_references(text, options=options)
        exhaust(node)
        arrays = {"": node} if isinstance(node, VirtualArray) else node.arrays
        loaded = {name: array.manifest.load() for name, array in arrays.items()}
    except ByteatlasError as error:
        return type(error)
    return {
        name: (m.source.tolist(), m.offset.tolist(), m.length.tolist(), dict(m.inlined)) for name, m in loaded.items()
    }


def test_a_remote_map_reads_no_local_files() -> None:
    node = read_references(v1({"x/0": ["file:///etc/passwd", 0, 8]}))
    assert isinstance(node, VirtualGroup)
    url = node.arrays["x"].manifest.load().sources[0].url
    with pytest.raises(Forbidden):
        SourcePool(policy=Policy(local=False))(url)


@pytest.mark.parametrize(
    "url",
    [
        "/etc/passwd",
        "file:///etc/passwd",
        "local:///etc/passwd",
        "../../etc/passwd",
        "file://localhost/etc/passwd",
        "zip://a::/etc/passwd",
        "zip://a::file:///etc/passwd",
        "simplecache::file:///etc/passwd",
        "FILE:///etc/passwd",
        "reference://::/etc/passwd",
        "dir::/etc",
        "filecache::local:///etc/passwd",
        "tar://x::../../etc/passwd",
    ],
)
def test_no_spelling_of_a_local_file_escapes_the_policy(url: str) -> None:
    with pytest.raises(Forbidden):
        SourcePool(policy=Policy(local=False))(url)


def test_policy_sees_through_chains_and_escapes() -> None:
    policy = Policy(allow=("s3://open", "https://h/data"), deny=("s3://open/secret",))
    policy.check("zip://a.nc::s3://open/all.zip")
    policy.check("https://h/data/x.nc")
    for url in [
        "zip://a.nc::s3://open/secret/all.zip",
        "s3://open/x/../secret/y",
        "https://h/data/%2e%2e/x",
        "s3://openly/x",
    ]:
        with pytest.raises(Forbidden):
            policy.check(url)
