"""The stores by the name that they had first; and `byteatlas.zarr_store`, the verb, which has the name of this module.

Importing a module makes it an attribute of its package. So that ``byteatlas.zarr_store(...)`` means the verb whatever
was imported before, the module can be called ("Customizing module attribute access" of Python's data model).
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

from byteatlas.zarr_stores.normalised import NormalisedZarrStore
from byteatlas.zarr_stores.opening import zarr_store
from byteatlas.zarr_stores.reference import ReferenceZarrStore

__all__ = ["NormalisedZarrStore", "ReferenceZarrStore"]


class _Verb(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return zarr_store(*args, **options)


__signature__ = inspect.signature(zarr_store)
sys.modules[__name__].__class__ = _Verb
