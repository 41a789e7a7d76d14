"""Counters are what servers count: through obstore, through Dask, on the command line, of members of archives."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.http_server import serve
from tests.s3_servers import KEY, SECRET, s3_subset
from tests.unit.cli.test_commands import call

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path: Path = tmp_path_factory.mktemp("counters") / "a.h5"
    with h5py.File(path, "w") as made:
        made["x"] = np.arange(10.0)
    return path.read_bytes()


def test_through_obstore(file: bytes) -> None:
    pytest.importorskip("obstore")
    with s3_subset({"a.bin": file}, latency=0.05) as bucket:
        access = Access(bucket.options(), backend="obstore")
        source = access.open(bucket.at("a.bin"))
        source.read([ByteRange(0, 10), ByteRange(100, 10), ByteRange(500, 10)])
        assert (access.counters.requests, access.counters.rounds) == (len(bucket.requests), 1) == (3, 1)
        source.read_all()
        found = access.counters
        assert (found.requests, found.rounds) == (len(bucket.requests), 2) == (4, 2)
        assert found.fetched == found.wanted == 30 + len(file)
        assert source.size() == len(file)
        assert access.counters.requests == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_through_dask(file: bytes) -> None:
    distributed = pytest.importorskip("distributed")
    names = [f"/{k}.h5" for k in range(6)]
    with (
        serve(dict.fromkeys(names, file)) as web,
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        access = Access()
        found = ba.scan_many([web.url + name for name in names], client, access=access)
        assert not found.failures
        assert access.counters.requests == len(web.requests) == 6
        assert access.counters.fetched == 6 * len(file)


def test_on_the_command_line(file: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    pytest.importorskip("s3fs")
    with s3_subset({"a.h5": file}) as bucket:
        bucket.keys = {KEY}
        for name, value in (("ACCESS_KEY_ID", KEY), ("SECRET_ACCESS_KEY", SECRET), ("ENDPOINT_URL", bucket.url)):
            monkeypatch.setenv(f"AWS_{name}", value)
        for backend in ("obstore", "fsspec"):
            bucket.requests.clear()
            options = ("--backend", backend, "--credentials", "s3://bucket/=environment", "--stats")
            status, _, said = call("info", bucket.at("a.h5"), *options, capsys=capsys)
            assert status == 0, said
            told = re.search(r"network: (\d+) requests? in (\d+) rounds?;", said)
            assert told is not None, (backend, said)
            if backend == "obstore":
                assert int(told[1]) == len(bucket.requests)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_members_of_archives_are_not_looked_at_before(file: bytes, kind: str) -> None:
    packed = io.BytesIO()
    padding = np.random.default_rng(0).bytes(1 << 20)
    if kind == "zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("padding", padding)
            archive.writestr("a.h5", file)
    else:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in (("padding", padding), ("a.h5", file)):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    with serve({f"/x.{kind}": packed.getvalue()}) as web:
        counts: list[Any] = []
        for verb in (ba.scan, ba.load, ba.open):
            access = Access(gaps="fixed")
            web.requests.clear()
            verb(f"{kind}://a.h5::{web.url}/x.{kind}", access=access)
            assert len(web.requests) == access.counters.requests
            counts.append([request[2] for request in web.requests])
        assert counts[0] == counts[1] == counts[2]
        assert len(counts[0]) <= 3
