"""Combining many virtual groups into one: plan, reconcile, concatenate columns, append."""

from byteatlas.combining.model import (
    ByOrder,
    CombineOptions,
    Compute,
    CoordinateSource,
    Finding,
    FromAttribute,
    FromName,
    FromVariable,
    Plan,
    Values,
)
from byteatlas.combining.plan import combine, plan_combine
from byteatlas.combining.select.ops import concat, mask

__all__ = [
    "ByOrder",
    "CombineOptions",
    "Compute",
    "CoordinateSource",
    "Finding",
    "FromAttribute",
    "FromName",
    "FromVariable",
    "Plan",
    "Values",
    "combine",
    "concat",
    "mask",
    "plan_combine",
]
