"""Whoever opens a store to write to it waits as long as the caller says, and no longer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pytest
from tests.s3_servers import Bucket, s3_subset

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.io.retry import RETRY as USUAL
from byteatlas.io.retry import Retry
from byteatlas.store.write import writable

RETRY = Retry(tries=3, wait=0.001, idle=0.5, deadline=10.0)
Backend = Literal["obstore", "fsspec"]
BOTH: tuple[Backend, ...] = ("obstore", "fsspec")


@pytest.fixture
def ours() -> Iterator[Bucket]:
    with s3_subset() as bucket:
        yield bucket


def access(bucket: Bucket, backend: Backend) -> Access:
    return Access(bucket.options(), backend=backend, retry=RETRY)


@pytest.mark.parametrize("backend", BOTH)
def test_a_stalled_write_is_tried_again_in_time(ours: Bucket, backend: Backend, tmp_path: Path) -> None:
    """With the usual time-out it would wait for half a minute."""
    how, stalled = access(ours, backend), list[str]()

    def plan(number: int, method: str, path: str) -> str | None:
        if method == "PUT" and not stalled:
            stalled.append(path)
            return "stall"
        return None

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.arange(4)
    ours.plan, begin = plan, time.monotonic()
    ba.copy(tmp_path / "a.h5", ours.at("c.zarr"), access=how)
    assert stalled
    assert time.monotonic() - begin < USUAL.idle / 2
    opened: Any = ba.open(ours.at("c.zarr"), access=how)
    assert opened["v"][...].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("backend", BOTH)
def test_a_store_to_be_written_is_tried_as_often_as_was_said(ours: Bucket, backend: Backend) -> None:
    with writable(ours.at("a.zarr"), access(ours, backend)) as store:
        ours.plan = lambda number, method, path: "500"
        with pytest.raises(ba.FetchFailed):
            store.set("a", b"x")
    assert len(ours.requests) == RETRY.tries


def test_options_taken_from_an_access_keep_its_retry(ours: Bucket) -> None:
    how = access(ours, "obstore")
    assert Access.of(None, how.storage_options).retry == RETRY
