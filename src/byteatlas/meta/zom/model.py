"""Zarr object models (ZEP 6, draft): a hierarchy's structure as one value, without its data.

A model is an `ArrayMeta` or a `GroupModel`, whose members are models. It has three forms:

* nested JSON (`to_json`, `from_json`): a node's metadata document with its user attributes under ``attributes``, and
  for groups ``members``;
* flat (`to_model`, `from_model`): path -> node, the root at the empty path;
* consolidated metadata (`consolidate`, `from_consolidated`), which is the flat form as the stores write it.

The draft's own JSON Schemas contradict its examples and both specifications; `byteatlas.meta.zom.schema` has
corrected ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from byteatlas.errors import InvalidMetadata
from byteatlas.meta import v2, v3
from byteatlas.meta.compare import identical
from byteatlas.meta.model import ArrayMeta, ChunkKeys, GroupMeta, NodeMeta
from byteatlas.meta.names import legal_name
from byteatlas.meta.parts import object_of
from byteatlas.meta.place import InNode
from byteatlas.meta.zom import versions as conversion
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

MOST_DEPTH = 256


@dataclass(frozen=True, slots=True)
class GroupModel:
    """A group and what is in it, by name."""

    meta: GroupMeta = field(default_factory=GroupMeta)
    members: Mapping[str, Model] = field(default_factory=dict)


Model: TypeAlias = ArrayMeta | GroupModel


def check_name(name: str) -> str:
    """A name that a node may have. Raises `InvalidMetadata` for others: see `byteatlas.meta.names`."""
    if not legal_name(name):
        raise InvalidMetadata(name, "not a legal node name")
    return name


# ------------------------------------------------------------------------------------------------------ flat


def to_model(nodes: Mapping[str, NodeMeta] | Iterable[tuple[str, NodeMeta]]) -> Model:
    """The model of nodes given by path. Groups that are only implied by a path are made, of the root's version.

    >>> model = to_model({"": GroupMeta(), "a/b": GroupMeta({"x": 1})})
    >>> list(from_model(model))
    ['', 'a', 'a/b']
    """
    given = {path.strip("/"): node for path, node in dict(nodes).items()}
    root = given.get("")
    if isinstance(root, ArrayMeta):
        if len(given) > 1:
            raise InvalidMetadata("", "an array cannot have members")
        return root
    number = _version(given)
    tree: dict[str, dict[str, NodeMeta]] = {}
    for path, node in given.items():
        head, _, rest = path.partition("/")
        if path:
            tree.setdefault(check_name(head), {})[rest] = node
    members = {name: _member(below, number, 1) for name, below in tree.items()}
    return GroupModel(root or GroupMeta({}, number), members)


def _version(nodes: Mapping[str, NodeMeta]) -> Literal[2, 3]:
    formats = {3 if node.zarr_format == 3 else 2 for node in nodes.values()}
    if len(formats) > 1:
        raise InvalidMetadata("", "nodes of versions 2 and 3 in one model")
    return 3 if formats == {3} else 2


def _member(nodes: Mapping[str, NodeMeta], number: Literal[2, 3], depth: int) -> Model:
    if depth > MOST_DEPTH:
        raise InvalidMetadata("", f"a hierarchy more than {MOST_DEPTH} levels deep")
    own = nodes.get("")
    if isinstance(own, ArrayMeta):
        if len(nodes) > 1:
            raise InvalidMetadata("", "an array cannot have members")
        return own
    tree: dict[str, dict[str, NodeMeta]] = {}
    for path, node in nodes.items():
        head, _, rest = path.partition("/")
        if path:
            tree.setdefault(check_name(head), {})[rest] = node
    members = {name: _member(below, number, depth + 1) for name, below in tree.items()}
    return GroupModel(own or GroupMeta({}, number), members)


def from_model(model: Model, prefix: str = "") -> dict[str, NodeMeta]:
    """Path -> node, depth first, the root at the empty path."""
    if isinstance(model, ArrayMeta):
        return {prefix: model}
    out: dict[str, NodeMeta] = {prefix: model.meta}
    for name, member in model.members.items():
        out |= from_model(member, f"{prefix}/{name}" if prefix else name)
    return out


# ------------------------------------------------------------------------------------------------------ JSON


def node_json(node: NodeMeta) -> dict[str, JSON]:
    """One node's metadata document, with its user attributes under ``attributes``."""
    if node.zarr_format == 3:
        return v3.dump_array(node) if isinstance(node, ArrayMeta) else v3.dump_group(node)
    document, attributes = v2.dump_array(node) if isinstance(node, ArrayMeta) else v2.dump_group(node)
    return {**document, "attributes": attributes}


def to_json(model: Model) -> dict[str, JSON]:
    """The nested JSON form. Raises `Unsupported` for a node that its version cannot express."""
    if isinstance(model, ArrayMeta):
        return node_json(model)
    return {**node_json(model.meta), "members": {name: to_json(m) for name, m in model.members.items()}}


def from_json(document: JSON, where: str = "", depth: int = 0) -> Model:
    """The model in a nested JSON form. Raises `InvalidMetadata` or `Unsupported` with the node's path."""
    with InNode(where):
        doc = dict(object_of(document, "node"))
    if depth > MOST_DEPTH:
        raise InvalidMetadata(where, f"a hierarchy more than {MOST_DEPTH} levels deep")
    members = doc.pop("members", None)
    attributes = doc.get("attributes", {})
    number = doc.get("zarr_format")
    if number not in (2, 3):
        raise InvalidMetadata(where, f"zarr_format {number!r}")
    is_array = doc.get("node_type") == "array" if number == 3 else "shape" in doc
    if is_array:
        if members is not None:
            raise InvalidMetadata(where, "an array cannot have members")
        if number == 3:
            meta, column = v3.parse_array(doc, where)
            if column is not None:
                raise InvalidMetadata(where, "a map of encodings belongs to the data and not to a model")
            return meta
        return v2.parse_array({k: v for k, v in doc.items() if k != "attributes"}, attributes, where)
    group = v3.parse_group(doc, where) if number == 3 else v2.parse_group(doc, attributes, where)
    found: dict[str, Model] = {}
    for name, member in object_of(members or {}, "members").items():
        path = f"{where}/{check_name(name)}".lstrip("/")
        found[name] = from_json(member, path, depth + 1)
        if version_of(found[name]) != number:
            raise InvalidMetadata(path, f"a node of another version than its group ({number})")
    return GroupModel(group, found)


def version_of(model: Model) -> Literal[2, 3]:
    """The version of Zarr that a model is of."""
    number = model.zarr_format if isinstance(model, ArrayMeta) else model.meta.zarr_format
    return 3 if number == 3 else 2


# ------------------------------------------------------------------------------------------------------ consolidated


def consolidate(model: Model) -> dict[str, JSON]:
    """Consolidated metadata: the ``.zmetadata`` of version 2, or a root ``zarr.json`` with the others inline."""
    flat = from_model(model)
    if version_of(model) == 3:
        root = node_json(flat.pop(""))
        inline = {path: node_json(node) for path, node in flat.items()}
        return {**root, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": inline}}
    documents: dict[str, JSON] = {}
    for path, node in flat.items():
        base = f"{path}/" if path else ""
        if isinstance(node, ArrayMeta):
            documents[f"{base}.zarray"], attributes = v2.dump_array(node)
        else:
            documents[f"{base}.zgroup"], attributes = v2.dump_group(node)
        documents[f"{base}.zattrs"] = attributes
    return {"zarr_consolidated_format": 1, "metadata": documents}


def from_consolidated(document: JSON, where: str = "") -> Model:
    """The model in consolidated metadata of either version."""
    with InNode(where):
        doc = object_of(document, "consolidated metadata")
        inside = "consolidated_metadata" in doc
        parent = object_of(doc["consolidated_metadata"], "consolidated_metadata") if inside else doc
        documents = object_of(parent.get("metadata"), "metadata")
    if inside:
        nodes = {"": _node3({k: v for k, v in doc.items() if k != "consolidated_metadata"}, where)}
        for path, item in documents.items():
            nodes[path.strip("/")] = _node3(item, path)
        return to_model(nodes)
    found: dict[str, NodeMeta] = {}
    for key, item in documents.items():
        path, _, name = key.rpartition("/")
        attributes = documents.get(f"{path}/.zattrs" if path else ".zattrs", {})
        if name == ".zarray":
            found[path] = v2.parse_array(item, attributes, path)
        elif name == ".zgroup":
            found[path] = v2.parse_group(item, attributes, path)
    return to_model(found)


def _node3(document: JSON, where: str) -> NodeMeta:
    with InNode(where):
        doc = object_of(document, "zarr.json")
    if doc.get("node_type") == "group":
        return v3.parse_group({k: v for k, v in doc.items() if k != "consolidated_metadata"}, where)
    return v3.parse_array(doc, where)[0]


# ------------------------------------------------------------------------------------------------------ comparing


def diff(a: Model, b: Model, *, include: Iterable[str] | None = None, exclude: Iterable[str] = ()) -> list[str]:
    """What differs, one line per place; empty for equal models.

    ``include`` names the members of nodes that matter (None: all), ``exclude`` those that do not (``attributes``,
    ``fill_value``, ``chunk_grid`` ...). Names of nodes, and whether they are arrays, always matter.

    >>> one, two = GroupModel(GroupMeta({"x": 1})), GroupModel(GroupMeta({"x": 2}))
    >>> diff(one, two)
    ['/attributes/x: 1 != 2']
    """
    out: list[str] = []
    chosen, left_out = None if include is None else frozenset(include), frozenset(exclude)
    _compare_models(a, b, "", lambda name: (chosen is None or name in chosen) and name not in left_out, out)
    return out


def equal(a: Model, b: Model, *, include: Iterable[str] | None = None, exclude: Iterable[str] = ()) -> bool:
    """Whether two models describe the same structure."""
    return not diff(a, b, include=include, exclude=exclude)


def _compare_models(a: Model, b: Model, path: str, matters: Callable[[str], bool], out: list[str]) -> None:
    if isinstance(a, ArrayMeta) != isinstance(b, ArrayMeta):
        out.append(f"{path or '/'}: {_kind(a)} != {_kind(b)}")
        return
    first, second = (node_json(x if isinstance(x, ArrayMeta) else x.meta) for x in (a, b))
    kept = [{k: v for k, v in doc.items() if matters(k)} for doc in (first, second)]
    _compare(kept[0], kept[1], path, out)
    if isinstance(a, GroupModel) and isinstance(b, GroupModel):
        for name in [*a.members, *(n for n in b.members if n not in a.members)]:
            here = f"{path}/{name}"
            if name not in b.members:
                out.append(f"{here}: only in the first")
            elif name not in a.members:
                out.append(f"{here}: only in the second")
            else:
                _compare_models(a.members[name], b.members[name], here, matters, out)


def _kind(model: Model) -> str:
    return "an array" if isinstance(model, ArrayMeta) else "a group"


def _compare(a: JSON, b: JSON, path: str, out: list[str]) -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(k for k in b if k not in a)]:
            if key not in b:
                out.append(f"{path}/{key}: {a[key]!r} != nothing")
            elif key not in a:
                out.append(f"{path}/{key}: nothing != {b[key]!r}")
            else:
                _compare(a[key], b[key], f"{path}/{key}", out)
    elif not identical(a, b):
        out.append(f"{path}: {a!r} != {b!r}")


# ------------------------------------------------------------------------------------------------------ converting


def convert(model: Model, zarr_format: Literal[2, 3], *, keys: Callable[[ArrayMeta], ChunkKeys] | None = None) -> Model:
    """The model in the other version, with the chunks as they are (``keys``: the chunk keys they will have).

    Raises `Unsupported`, with the node's path, for what cannot be expressed.
    """
    flat = from_model(model)
    made: dict[str, NodeMeta] = {}
    for path, node in flat.items():
        chosen = keys(node) if keys is not None and isinstance(node, ArrayMeta) else None
        made[path] = conversion.convert(node, zarr_format, keys=chosen)
    return to_model(made)
