"""Objects that are named as text, ``module:attribute``, as entry points and tables of lazily imported things do."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def object_named(target: str) -> Any:
    """The object that ``module:attribute`` names; its module is imported.

    >>> object_named("math:pi")
    3.141592653589793
    """
    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found
