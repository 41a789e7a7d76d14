"""Every kind of wrong answer of a web server: the right values, or an error of ours; never other values."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import fault_server
from tests.fault_server import KINDS, PASSING, STATUSES, Faulty, Plan, at_random, burst, faulty, from_then_on, once

import byteatlas as ba
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")
VALUES = np.arange(40 * 30, dtype="i4").reshape(40, 30)
DEADLINE = 3.0
ACCESS = ba.Access(retry=ba.Retry(wait=0.001, idle=0.15, deadline=DEADLINE))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("faults")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(10, 10), compression="gzip")
    ba.write(ba.scan(folder / "a.h5"), folder / "a.json", options=ba.MapWriteOptions(relative=True))
    ba.write(ba.scan(folder / "a.h5"), folder / "a.parquet", options=ba.MapWriteOptions(relative=True))
    stores = {
        "v2.zarr": ba.CopyOptions(zarr_format=2),
        "v3.zarr": ba.CopyOptions(),
        "s.zarr": ba.CopyOptions(shards={"v": (20, 20)}),
    }
    for name, options in stores.items():
        ba.copy(folder / "a.h5", folder / name, options=options)
    return {
        "/" + str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def server(files: dict[str, bytes]) -> Iterator[Faulty]:
    with faulty(files, stall=1.0) as running:
        yield running


def values(node: Any) -> Any:
    return np.asarray(node["v"][...])


def part(node: Any) -> Any:
    return node["v"][5:35:7, 3]


CONNECTION = {"reset", "close", "cut head", "garbage", "stall", "redirect loop"}
OPERATIONS: dict[str, Callable[[str], Any]] = {
    "scan": lambda url: values(ba.open(ba.scan(f"{url}/a.h5", access=ACCESS))),
    "json map": lambda url: values(ba.open(f"{url}/a.json", access=ACCESS)),
    "parquet map": lambda url: values(ba.open(f"{url}/a.parquet", access=ACCESS)),
    "zarr v2": lambda url: values(ba.open(f"{url}/v2.zarr", access=ACCESS)),
    "zarr v3": lambda url: values(ba.open(f"{url}/v3.zarr", access=ACCESS)),
    "shards": lambda url: values(ba.open(f"{url}/s.zarr", access=ACCESS)),
    "part": lambda url: part(ba.open(f"{url}/a.json", access=ACCESS)),
}


def expected(name: str) -> Any:
    return VALUES[5:35:7, 3] if name == "part" else VALUES


def outcome(server: Faulty, name: str, plan: Plan) -> str:
    """``right``, or the name of the error. Anything else is a failure of the test."""
    server.requests.clear()
    server.plan = plan
    begin = time.monotonic()
    try:
        found = OPERATIONS[name](server.url)
    except ByteatlasError as error:
        if server.url not in (error.url if isinstance(error, FetchFailed) else str(error)):
            raise AssertionError("the error does not say where") from error
        result = type(error).__name__
    else:
        np.testing.assert_array_equal(found, expected(name))
        result = "right"
    finally:
        server.plan = lambda number, method, path: None
    assert time.monotonic() - begin < 4 * DEADLINE
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_one_wrong_answer(server: Faulty, name: str, kind: str) -> None:
    assert outcome(server, name, lambda number, method, path: None) == "right"
    for at in sorted({0, len(server.requests) // 2, len(server.requests) - 1}):
        for count in (1, 2):
            found = outcome(server, name, burst(at, count, kind))
            if kind in PASSING:
                assert found == "right", (at, count, found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["scan", "zarr v3", "shards"])
def test_a_server_that_goes_down(server: Faulty, name: str, kind: str) -> None:
    assert outcome(server, name, lambda number, method, path: None) == "right"
    last = len(server.requests) - 1
    found = outcome(server, name, from_then_on(last, kind))
    assert found != "right" or kind not in {*STATUSES, *CONNECTION}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", OPERATIONS)
def test_wrong_answers_at_random(server: Faulty, name: str, seed: int) -> None:
    kinds = itertools.islice(itertools.cycle(KINDS), seed * 7, seed * 7 + 8)
    for kind in kinds:
        outcome(server, name, at_random(0.3, seed, kind))


def test_a_portal_that_is_as_long_as_the_file(server: Faulty, files: dict[str, bytes]) -> None:
    files["/raw.nc"] = b"CDF\x01" + bytes(60)
    source = ACCESS.open(f"{server.url}/raw.nc")
    server.plan = from_then_on(0, "portal of the right length")
    server.requests.clear()
    try:
        with pytest.raises(FetchFailed, match="web page"):
            source.read([ByteRange(0, 64)])
        with pytest.raises(FetchFailed, match="web page"):
            source.read_all()
    finally:
        server.plan = lambda number, method, path: None
    assert bytes(source.read_all()) == files["/raw.nc"]


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 25
    assert callable(once(0, "500"))
    assert Path(fault_server.__file__).name == "fault_server.py"
