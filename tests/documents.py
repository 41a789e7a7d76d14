"""Metadata documents, made by hand."""

from __future__ import annotations

from typing import Any


def zarray(shape: list[int], chunks: list[int], dtype: Any = "<i4", **changes: Any) -> dict[str, Any]:
    """The ``.zarray`` of an uncompressed array."""
    return {
        "zarr_format": 2,
        "shape": shape,
        "chunks": chunks,
        "dtype": dtype,
        "compressor": None,
        "filters": None,
        "order": "C",
        "fill_value": 0,
        **changes,
    }
