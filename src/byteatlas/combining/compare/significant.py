"""Attributes that say what values mean: files in which one of these differs are looked at apart."""

from __future__ import annotations

import json
from typing import Any

from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.types import JSON

MEANING = (
    "units",
    "calendar",
    "positive",
    "standard_name",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "formula_terms",
    "grid_mapping",
)
"""Values of different files mean different things when one of these differs."""
SIGNIFICANT = (*MEANING, *PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)
"""Files in which one of these differs are looked at apart."""
ABSENT: Any = object()
"""Stands for an attribute that a file does not have."""


def show_json(value: JSON, limit: int = 60) -> str:
    """A JSON value for a message."""
    text = json.dumps(value, default=str)
    return text if len(text) <= limit else text[: limit - 3] + "..."
