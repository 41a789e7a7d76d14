"""Arrays and groups: plan a selection, fetch, decode, scatter; and write."""

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.array.options import ReadOptions
from byteatlas.array.stored import open_store
from byteatlas.array.virtual import open_node

__all__ = ["Array", "Group", "Node", "ReadOptions", "open_node", "open_store"]
