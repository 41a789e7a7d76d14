"""Is a file still the one that was indexed? Found out without a request of its own."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.http_server import serve
from tests.maps import array

from byteatlas.api.opening import open as open_node
from byteatlas.array import Array
from byteatlas.array import open_node as open_virtual
from byteatlas.errors import SourceChanged
from byteatlas.io.access import Access
from byteatlas.io.open import SourcePool, open_source, opened
from byteatlas.io.source import Source
from byteatlas.io.stamp import same_stamp, stamp_of
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup
from byteatlas.manifest.ops.inline import inline
from byteatlas.store.reference import ReferenceStore
from byteatlas.types import ByteRange
from byteatlas.values import replace

VALUES = np.arange(12, dtype="<f4")


def tree(info: SourceInfo) -> VirtualGroup:
    node = array((12,), (4,), url=info.url)
    return VirtualGroup(arrays={"x": VirtualArray(node.meta, replace(node.manifest.load(), sources=(info,)))})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(100) + VALUES.tobytes())
    return path


def indexed(path: Path) -> VirtualGroup:
    return tree(SourceInfo(str(path), path.stat().st_size, stamp_of(SourcePool()(str(path)))))


def other(path: Path) -> None:
    """Another file of the same size in the place of the first."""
    new = path.with_suffix(".new")
    new.write_bytes(bytes(100) + (VALUES + 1).tobytes())
    os.utime(new, ns=(1, path.stat().st_mtime_ns + 1))
    new.replace(path)


def test_a_local_file_of_the_same_size_and_another_time(data: Path) -> None:
    found = indexed(data)
    other(data)
    with pytest.raises(SourceChanged, match="stamps='size'"):
        open_node(found, path="x")[...]  # type: ignore[index]
    same = open_node(found, path="x", access=Access(stamps="size"))
    assert isinstance(same, Array)
    assert same[0] == VALUES[0] + 1


def test_a_file_that_is_written_to_while_it_is_open(data: Path) -> None:
    node = open_virtual(indexed(data), path="x")
    assert isinstance(node, Array)
    assert node[0] == 0
    with data.open("r+b") as file:
        file.seek(100)
        file.write((VALUES + 1).tobytes())
    os.utime(data, ns=(1, data.stat().st_mtime_ns + 1))
    with pytest.raises(SourceChanged):
        node[0]


def test_copies_that_keep_whole_seconds(data: Path) -> None:
    found = indexed(data)
    seconds = data.stat().st_mtime_ns // 10**9 * 10**9
    os.utime(data, ns=(seconds, seconds))
    assert open_virtual(found, path="x")[0] == 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("recorded", "found", "same"),
    [
        ("1700000000123456789", "1700000000123456788", False),
        ('"a"', '"b"', False),
        ('"a"', 'W/"a"', True),
        ('"a"', '"a-gzip"', True),
        ("1700000000123456789", '"a"', True),
        ("Tue, 01 Jan 2030 00:00:00 GMT", '"a"', True),
        ("Tue, 01 Jan 2030 00:00:00 GMT", "Tue, 01 Jan 2030 00:00:01 GMT", False),
    ],
)
def test_stamps_of_one_kind_are_compared(recorded: str, found: str, same: bool) -> None:
    assert same_stamp(recorded, found) is same


def test_whoever_reads_what_a_map_names_compares(data: Path) -> None:
    """Not arrays alone: stores for zarr-python, and copying bytes into the map."""
    found = indexed(data)
    other(data)
    with pytest.raises(SourceChanged):
        ReferenceStore(found, SourcePool()).get("x/0")
    with pytest.raises(SourceChanged):
        inline(found, SourcePool())
    with pytest.raises(SourceChanged):
        opened(SourcePool(), found.arrays["x"].manifest.load().sources[0])


@pytest.mark.parametrize("etags", [True, False])
def test_remote_files_are_compared_by_the_answers_that_come_anyway(etags: bool) -> None:
    files = {"/x.bin": bytes(100) + VALUES.tobytes()}
    with serve(files, etags=etags) as web:
        url = f"{web.url}/x.bin"
        source = open_source(url)
        node = open_virtual(tree(SourceInfo(url, source.size(), stamp_of(source))), path="x")
        assert isinstance(node, Array)
        web.requests.clear()
        assert node[0] == 0
        assert len(web.requests) == 1
        fresh = pickle.loads(pickle.dumps(node))
        files["/x.bin"] = bytes(100) + (VALUES + 1).tobytes() + (b"" if etags else b"more")
        web.requests.clear()
        for reader in (fresh, node):
            with pytest.raises(SourceChanged, match=("stamp" if etags else "size")):
                reader[0]
        assert len(web.requests) == 2


def test_one_source_never_mixes_two_objects() -> None:
    files = {"/x.bin": bytes(100)}
    with serve(files, etags=True) as web:
        source = open_source(f"{web.url}/x.bin")
        source.read([ByteRange(0, 10)])
        files["/x.bin"] = b"1" * 100
        with pytest.raises(SourceChanged):
            source.read([ByteRange(10, 10)])


def _read_in_child(source: Source, answers: Any) -> None:
    answers.put(bytes(source.read([ByteRange(0, 3)])[0]))


def test_a_fork_after_a_read_works() -> None:
    context = multiprocessing.get_context("fork")
    with serve({"/x.bin": b"abcdef"}) as web:
        source = open_source(f"{web.url}/x.bin")
        assert source.read([ByteRange(0, 3)]) == [b"abc"]
        answers = context.Queue()
        child = context.Process(target=_read_in_child, args=(source, answers))
        child.start()
        try:
            assert answers.get(timeout=20) == b"abc"
        finally:
            child.kill()
            child.join()
