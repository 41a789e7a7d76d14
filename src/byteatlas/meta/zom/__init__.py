"""Zarr object models (ZEP 6): a hierarchy's structure as one value, and its JSON, flat and consolidated forms."""

from byteatlas.meta.zom.model import (
    GroupModel,
    Model,
    check_name,
    consolidate,
    convert,
    diff,
    equal,
    from_consolidated,
    from_json,
    from_model,
    node_json,
    to_json,
    to_model,
    version_of,
)

__all__ = [
    "GroupModel",
    "Model",
    "check_name",
    "consolidate",
    "convert",
    "diff",
    "equal",
    "from_consolidated",
    "from_json",
    "from_model",
    "node_json",
    "to_json",
    "to_model",
    "version_of",
]
