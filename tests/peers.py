"""What other Zarr libraries read."""

from __future__ import annotations

from typing import Any

import pytest


def by_tensorstore(path: str, zarr_format: int) -> Any:
    ts = pytest.importorskip("tensorstore")
    spec = {"driver": "zarr3" if zarr_format == 3 else "zarr", "kvstore": {"driver": "file", "path": path}}
    return ts.open(spec, open=True).result().read().result()


def by_zarrs(path: str, *, strict: bool = False) -> Any:
    """zarr-python with the codecs of zarrs; ``strict``: no codec of its own instead."""
    pytest.importorskip("zarrs")
    zarr = pytest.importorskip("zarr")
    with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": strict}):
        return zarr.open_array(path, mode="r")[...]
