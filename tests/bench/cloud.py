"""Object storage with 30 ms per request: small ranges, random chunks, and many files at once, beside the peers."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from tests.bench.report import Row
from tests.s3_servers import Bucket

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.types import ByteRange

RANGES, LENGTH = 1000, 4096
CHUNKS, CHUNK = 20_000, 100


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    rounds, files = scale.get("rounds", 3), scale.get("files", 2000)
    with served(scale.get("latency", 30) / 1000) as bucket:
        rows = _ranges(bucket, rounds) + _chunks(folder, bucket, rounds)
    with served(0.0) as bucket:
        return rows + _files(folder, bucket, files)
