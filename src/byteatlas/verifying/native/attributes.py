"""Attribute values of the formats' own libraries as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.types import JSON


def as_json(value: Any) -> JSON:
    """A library's attribute value as JSON would have it; NotImplemented for what JSON has no plain form of."""
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode("utf-8", "surrogateescape")
    if isinstance(value, (np.bool_, np.integer, np.floating, np.bytes_)):
        return as_json(value.item())
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufSUO":
        parts = [as_json(v) for v in value.tolist()] if value.ndim else as_json(value.item())
        return NotImplemented if isinstance(parts, list) and NotImplemented in parts else parts
    if isinstance(value, list):
        parts = [as_json(v) for v in value]
        return NotImplemented if NotImplemented in parts else parts
    return value if isinstance(value, (bool, int, float, str)) else NotImplemented
