"""Maps of a few bytes that ask for much work or memory: an error, soon."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pytest
from tests.documents import zarray

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.cli.app import run
from byteatlas.cli.common import harmless
from byteatlas.codecs import build_pipeline
from byteatlas.codecs.core.contract import ByteSpec
from byteatlas.codecs.core.registry import default_registry
from byteatlas.codecs.core.resolve import Binder
from byteatlas.errors import BadRequest, CorruptChunk, FetchFailed, InvalidMetadata
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import CodecSpec, Encoding


def a_map(folder: Path, refs: dict[str, Any], meta: dict[str, Any] | None = None, **top: Any) -> str:
    base = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps({**zarray([4], [4]), **(meta or {})})}
    path = folder / "map.json"
    path.write_text(json.dumps({"version": 1, "refs": {**base, **refs}, **top}))
    return str(path)


def value(path: str) -> np.ndarray[Any, Any]:
    array = ba.open(path)["x"]
    assert isinstance(array, Array)
    return np.asarray(array[...])


def loaded(path: str) -> None:
    tree = ba.load(path)
    assert isinstance(tree, VirtualGroup)
    array = tree["x"]
    assert isinstance(array, VirtualArray)
    array.manifest.load()


@pytest.mark.parametrize("call", ["{{t%d}}", "{{t%d(a=1)}}"])
def test_templates_that_name_each_other(tmp_path: Path, call: str) -> None:
    templates = {f"t{i}": (call % (i + 1)) * 6 for i in range(12)} | {"t12": "x"}
    path = a_map(tmp_path, {"x/0": [call % 0, 0, 10]}, templates=templates)
    with pytest.raises(InvalidMetadata, match="too often"):
        loaded(path)


def test_holes_that_never_end(tmp_path: Path) -> None:
    path = a_map(tmp_path, {"x/0": ["{{" * 500_000, 0, 10]}, templates={"a": "x"})
    begin = time.process_time()
    with pytest.raises(InvalidMetadata, match=re.escape("'{{' without '}}'")):
        loaded(path)
    assert time.process_time() - begin < 5


def test_generated_urls_have_a_length_in_all(tmp_path: Path) -> None:
    entry = {
        "key": "x/{{i}}",
        "url": "{{a}}{{i}}",
        "offset": "0",
        "length": "1",
        "dimensions": {"i": {"stop": 1 << 20}},
    }
    path = a_map(tmp_path, {}, {"shape": [1 << 20], "chunks": [1]}, templates={"a": "x" * 60_000}, gen=[entry])
    with pytest.raises(InvalidMetadata, match="characters of long keys and URLs"):
        loaded(path)


def test_many_references_through_templates_are_no_fault(tmp_path: Path) -> None:
    count = 150_000
    refs = {f"x/{i}": ["{{u}}", i, 1] for i in range(count)}
    meta = {"shape": [count], "chunks": [1], "dtype": "|u1"}
    loaded(a_map(tmp_path, refs, meta, templates={"u": "{{v}}", "v": "/data"}))


def test_a_range_that_is_not_in_the_file_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x")
    path = a_map(tmp_path, {"x/0": [str(tmp_path / "one"), 0, 1 << 40]}, {"compressor": {"id": "zlib", "level": 1}})
    with pytest.raises(FetchFailed, match="only 1 bytes"):
        value(path)


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    path = a_map(tmp_path, {"x/0": [str(tmp_path), 0, 10]}, {"compressor": {"id": "zlib", "level": 1}})
    with pytest.raises(FetchFailed, match="is a directory"):
        value(path)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_grid_that_cannot_be_gone_through(tmp_path: Path, form: Literal["json", "parquet"]) -> None:
    path = a_map(tmp_path, {}, {"shape": [1 << 40], "chunks": [1]})
    with pytest.raises(BadRequest, match="too large to be written"):
        ba.write(ba.load(path), str(tmp_path / "out"), format=form)


def test_limits_do_not_double_with_every_codec() -> None:
    spec = ByteSpec(16, 16)
    steps = Binder(default_registry()).byte_codecs((CodecSpec("gzip"),) * 16, spec)
    assert max(step.limit for step in steps) < 1 << 20
    data = np.arange(4, dtype=np.int32).tobytes()
    found = data
    for step in steps:
        found = step.encode(found)
    for step in reversed(steps):
        found = step.decode(found)
    assert bytes(found) == data


def test_lists_of_json2_are_counted() -> None:
    from byteatlas.codecs.numcodecs import listed

    data = b"[" + b"[]," * (listed.MOST_LISTS + 1) + b'"|O",[1]]'
    pipeline = build_pipeline(Encoding((CodecSpec("numcodecs.json2"),)), from_v3("int32"), (1,), None)
    with pytest.raises(CorruptChunk, match="json2"):
        pipeline.decode(data)


def test_commands_to_the_terminal_are_shown_not_obeyed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(tmp_path / "no\x1b]0;evil\x07such.json")])
    error = capfd.readouterr().err
    assert "\x1b]" not in error
    assert "\x07" not in error
    assert "\\x1b]0;evil" in error


@pytest.mark.filterwarnings("ignore::byteatlas.RefusalWarning")
def test_names_that_command_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;evil\x07\x1b[2J\x1b[8m\x9b31m"
    path = str(tmp_path / "names.h5")
    with h5py.File(path, "w") as file:
        file["a" + evil] = np.arange(4)
        file["g" + evil + "/x"] = np.arange(4)
        file["soft" + evil] = h5py.SoftLink("/no" + evil)
    target = str(tmp_path / "names.json")
    commands = [["scan", path, "-o", target], ["verify", path]]
    commands += [[what, target] for what in ("info", "stats", "check", "diff")]
    commands += [["info", "--json", path], ["diff", path, target], ["select", target]]
    for command in commands:
        run(command)
        out, error = capfd.readouterr()
        assert not {c for c in out + error if not c.isprintable() and c not in "\n\t"}, command
        if "--json" in command:
            assert json.loads(out)["groups"][0]["path"] == f"g{evil}"
    assert run(["info", target]) == 0
    assert "a\\x1b]0;evil\\x07\\x1b[2J\\x1b[8m\\x9b31m" in capfd.readouterr().out


def test_colours_of_our_own_stay() -> None:
    out = io.StringIO()
    text = "\x1b[1;31mred\x1b[0m \x1b[8mhidden\x1b[0m\tä \u202e\r\n"
    assert harmless(out).write(text) == len(text)
    assert out.getvalue() == "\x1b[1;31mred\x1b[0m \\x1b[8mhidden\x1b[0m\tä \\u202e\\r\n"
