"""Combining many virtual groups into one: plan, reconcile, concatenate columns, append."""

from byteatlas.combine.model import (
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
from byteatlas.combine.ops import concat, mask
from byteatlas.combine.plan import combine, plan_combine

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
