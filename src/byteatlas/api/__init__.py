"""The verbs of the library, a module for each group of them. Everything public here is exported by ``byteatlas``.

A verb imports what it needs when it is called: scanning a file knows nothing of combining.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from byteatlas.api.combination import append, combine, concat, plan_combine, prepare_combine
    from byteatlas.api.indexing import RefusalWarning, load, scan, write
    from byteatlas.api.models import from_model, to_model
    from byteatlas.api.opening import copy, georeference, open
    from byteatlas.api.selection import mask, select
    from byteatlas.api.stores import create_array, create_group, open_writable
    from byteatlas.api.tree import VirtualTree
    from byteatlas.api.verification import verify

__all__ = [
    "RefusalWarning",
    "VirtualTree",
    "append",
    "combine",
    "concat",
    "copy",
    "create_array",
    "create_group",
    "from_model",
    "georeference",
    "load",
    "mask",
    "open",
    "open_writable",
    "plan_combine",
    "prepare_combine",
    "scan",
    "select",
    "to_model",
    "verify",
    "write",
]

_PLACES = {
    "combination": "append combine concat plan_combine prepare_combine",
    "indexing": "RefusalWarning load scan write",
    "models": "from_model to_model",
    "opening": "copy georeference open",
    "selection": "mask select",
    "stores": "create_array create_group open_writable",
    "tree": "VirtualTree",
    "verification": "verify",
}
_MODULE_OF = {name: f"byteatlas.api.{module}" for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Verbs are imported when they are first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(_import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found
