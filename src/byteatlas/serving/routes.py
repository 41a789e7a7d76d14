"""From a path to what is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from byteatlas.serving.bodies import Body
from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.naming import RESERVED
from byteatlas.serving.options import ServeOptions
from byteatlas.serving.published import Published
from byteatlas.serving.requests import Asked
from byteatlas.serving.sending import PART
from byteatlas.serving.tree import ZarrFormat
from byteatlas.serving.visitors import asset, home, look, overview
from byteatlas.values import dataclass

VERSIONS: Mapping[str, ZarrFormat] = {"v2": 2, "v3": 3}


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All that is served."""

    published: Mapping[str, Published]
    options: ServeOptions


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """What a request asks for: ready, or made in a thread (None: a chunk that was never written).

    Attributes:
        room: bytes that making it holds at most.
    """

    make: Callable[[], Body | None]
    ready: Body | None = None
    room: int = PART


def find(library: Library, request: Asked) -> Resource:
    """Raises `HTTPRefusal`: 404 for what is not there, 308 where a slash is missing."""
    match request.parts:
        case ():
            _with_slash(request)
            return Resource(partial(home, library.published))
        case (first, *rest) if first == RESERVED:
            return Resource(partial(asset, "/".join(rest)))
    first, *rest = request.parts
    published = library.published.get(first)
    if published is None:
        raise HTTPRefusal(404, "nothing is served under this name")
    match rest:
        case []:
            _with_slash(request)
            return Resource(partial(overview, published))
        case ["refs.json"]:
            return Resource(published.references)
        case ["look"]:
            return Resource(partial(look, published, request.query), room=32 << 20)
        case [version, *key] if version in VERSIONS and key and not request.slash:
            return _in_tree(published, VERSIONS[version], "/".join(key))
    raise HTTPRefusal(404, "there is no such thing here; v2/, v3/ and refs.json are")


def _with_slash(request: Asked) -> None:
    """Links of pages are relative: a path without its slash would lead beside them."""
    if not request.slash:
        last = request.parts[-1] if request.parts else request.base.rpartition("/")[2]
        raise HTTPRefusal(308, "", {"location": f"{last}/"})


def _in_tree(published: Published, version: ZarrFormat, key: str) -> Resource:
    tree = published.ready(version)
    if tree is None:

        def first() -> Body | None:
            published.tree(version)
            found = _in_tree(published, version, key)
            return found.ready or found.make()

        return Resource(first)
    document = tree.documents.get(key)
    if document is not None:
        return Resource(lambda: document, document)
    place = tree.place(key)
    if place is not None:
        return Resource(partial(tree.chunk, place), room=max(PART, tree.room(place)))
    head, _, name = key.rpartition("/")
    if head in tree.refused and name in (".zarray", ".zattrs", "zarr.json"):
        reason = getattr(tree.refused[head], "reason", "metadata")
        raise HTTPRefusal(404, f"this array is not served in this version of Zarr [{reason}]")
    raise HTTPRefusal(404, "there is no such key")
