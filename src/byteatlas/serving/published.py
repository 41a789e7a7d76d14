"""What is served under one name: the opened tree, its versions, its references and its page, each made once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from byteatlas.api.indexing import load
from byteatlas.api.opening import open as open_target
from byteatlas.api.targets import is_references, place_of
from byteatlas.array import Array, Group, Node
from byteatlas.errors import Forbidden, Unsupported
from byteatlas.io.access import Access
from byteatlas.io.kind import kind_of
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.common import all_arrays
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.origin import check_written
from byteatlas.serving.bodies import Body, ByteCache, body_of
from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.naming import may_be_named
from byteatlas.serving.options import ServeOptions
from byteatlas.serving.tree import JSON_TYPE, ServedTree, ZarrFormat

Servable: TypeAlias = Any
"""What `byteatlas.open` takes, or a `Group` or `Array`."""
T = TypeVar("T")


class Published:
    """One target under its name. What is made of it is made when it is first asked for, in the thread that asks."""

    def __init__(self, name: str, kind: str, node: Node, virtual: VirtualNode | None, options: ServeOptions) -> None:
        self.name, self.kind, self.node, self.virtual, self.options = name, kind, node, virtual, options
        self._cache = ByteCache(options.cache_bytes)
        self._made: dict[object, Any] = {}
        self._lock = threading.RLock()  # a page is made of facts and trees

    @property
    def report(self) -> tuple[ReportItem, ...]:
        """What a scan refused."""
        found = self.virtual.report if isinstance(self.virtual, VirtualGroup) else ()
        return tuple(item for item in found if item.status == "refused")

    def tree(self, zarr_format: ZarrFormat) -> ServedTree:
        """The target in one version of Zarr."""
        return self.once(zarr_format, lambda: ServedTree(self.node, zarr_format, self.options, self._cache))

    def ready(self, zarr_format: ZarrFormat) -> ServedTree | None:
        """The same where it is made already, without waiting."""
        found = self._made.get(zarr_format)
        return found if isinstance(found, ServedTree) else None

    def references(self) -> Body:
        """The references as Kerchunk's JSON. Raises `HTTPRefusal` where there are none that may be told."""
        return self.once("references", self._references)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What was made under a key, made now if it was not."""
        found: T | None = self._made.get(key)
        if found is None:
            with self._lock:
                found = self._made.get(key)
                if found is None:
                    found = self._made[key] = make()
        return found

    def _references(self) -> Body:
        node = self.virtual
        if node is None:
            raise HTTPRefusal(404, "this is a Zarr store, which has no references")
        chunks = sum(_count(array) for _, array in all_arrays(node))
        if chunks > self.options.most_references:
            raise HTTPRefusal(403, f"{chunks} references are more than this server puts into one document")
        if not all(may_be_named(url, self.options.naming) for url in sources_of(node)):
            raise HTTPRefusal(403, "the files that hold the bytes are not named to clients; read through v2 or v3")
        return body_of(_json(node), JSON_TYPE)


def _count(array: VirtualArray) -> int:
    total = 1
    for n in array.manifest.grid_shape:
        total *= n
    return total


def _json(node: VirtualNode) -> bytes:
    from io import BytesIO

    from byteatlas.manifest.json.write import write_json

    text = BytesIO()
    try:
        check_written(node)
        write_json(node, text, MapWriteOptions(), version=1)
    except (Unsupported, Forbidden) as error:
        raise HTTPRefusal(403, "these references cannot be written down for others") from error
    return text.getvalue()


def publish(name: str, target: Servable, options: ServeOptions, access: Access | None) -> Published:
    """Open what is to be served. Raises what `byteatlas.open` raises."""
    if isinstance(target, (Array, Group)):
        return Published(name, "arrays", target, None, options)
    if isinstance(target, (VirtualArray, VirtualGroup)) or is_references(target):
        virtual = load(target, access=access)
        return Published(name, "references", open_target(virtual), virtual, options)
    if isinstance(target, Mapping) or not _is_place(target):
        return Published(name, "store", open_target(target, access=access), None, options)
    url, how = place_of(target, Access.of(access))
    kind = kind_of(url, how)
    if kind == "zarr":
        return Published(name, "store", open_target(url, access=how), None, options)
    virtual = load(target, access=access)
    return Published(name, "archive" if kind == "archive" else "map", open_target(virtual), virtual, options)


def _is_place(target: object) -> bool:
    return isinstance(target, str) or hasattr(target, "__fspath__") or hasattr(target, "read")
