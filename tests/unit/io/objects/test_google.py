"""Writing to Google Cloud Storage only if an object is still in the state that was read: by generations, not etags."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gcs_server import GoogleBucket, google_storage
from tests.unit.edges.test_concurrent_appends import archives

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.io.locks import version_of
from byteatlas.io.retry import Retry
from byteatlas.io.writing.leases import one_writer
from byteatlas.io.writing.remote import RemoteFolder, remote_file
from byteatlas.io.writing.versions import NEW, Overtaken

pytest.importorskip("obstore")
COMMAND = """
import json, sys, byteatlas as ba
options = json.loads(sys.argv[3])
how = ba.Access({"gs://bucket/": options}, ba.Policy(local=True), backend="obstore")
ba.append(sys.argv[1], [sys.argv[2]], "time", access=how)
"""


@pytest.fixture
def bucket() -> Iterator[GoogleBucket]:
    with google_storage() as running:
        yield running


def access(bucket: GoogleBucket) -> Access:
    return Access({"gs://bucket/": bucket.options()}, ba.Policy(local=True), backend="obstore", retry=Retry(wait=0.01))


def test_only_the_state_that_was_seen_is_replaced(bucket: GoogleBucket) -> None:
    how, url = access(bucket), bucket.at("a b/one.txt")
    with remote_file(url, how.storage_options, NEW) as sink:
        sink.write(b"one")
    with pytest.raises(Overtaken), remote_file(url, how.storage_options, NEW) as sink:
        sink.write(b"two")
    seen = version_of(url, how)
    folder = RemoteFolder(bucket.at("a b"), how.storage_options)
    folder.put("one.txt", b"three", seen)
    with pytest.raises(Overtaken):
        folder.put("one.txt", b"four", seen)
    assert bytes(how.open(url).read_all()) == b"three"
    assert bucket.conditions == ["0", "0", seen.number, seen.number]


def test_one_writer_at_a_time(bucket: GoogleBucket) -> None:
    how, url = access(bucket), bucket.at("all.json")
    with one_writer(url, how):
        assert list(bucket.objects) == [".all.json.lock"]
        with pytest.raises(ba.Conflict, match="by others"), one_writer(url, how, 0.05):
            pass
    assert not bucket.objects


@pytest.mark.parametrize("name", ["all.json", "all.parquet"])
def test_processes_take_turns(bucket: GoogleBucket, name: str, tmp_path: Path) -> None:
    count, how, target = 4, access(bucket), bucket.at(name)
    first, *others = archives(tmp_path, 1 + count)
    ba.write(ba.scan(first), target, access=how)
    command, options = [sys.executable, "-c", COMMAND, target], json.dumps(bucket.options())
    running = [subprocess.Popen([*command, path, options]) for path in others]
    assert [process.wait(300) for process in running] == [0] * count
    opened: Any = ba.open(target, access=how)
    assert opened["x"][...].tolist() == list(range(1 + count))
    assert not [key for key in bucket.objects if "lock" in key]
