"""Arrays and groups: plan a selection, fetch, decode, scatter; and write.

Names are imported when they are first used: reading a reference map knows nothing of Zarr stores.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from byteatlas.array.array import Array
    from byteatlas.array.group import Group, Node
    from byteatlas.array.options import ReadOptions
    from byteatlas.array.stored import open_store
    from byteatlas.array.virtual import open_node

__all__ = ["Array", "Group", "Node", "ReadOptions", "open_node", "open_store"]

_PLACES = {
    "Array": "array",
    "Group": "group",
    "Node": "group",
    "ReadOptions": "options",
    "open_node": "virtual",
    "open_store": "stored",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"byteatlas.array.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
