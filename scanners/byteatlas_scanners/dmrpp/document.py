"""A DMR++ document as a tree of virtual arrays: groups, dimensions, attributes, the report."""

from __future__ import annotations

from byteatlas.errors import FileFault, InvalidMetadata
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import INCOMPLETE, left_out, refusal
from byteatlas.types import JSON, Shape
from byteatlas_scanners.dmrpp.files import DataFiles
from byteatlas_scanners.dmrpp.variable import TYPES, DAPVariable, to_array
from byteatlas_scanners.dmrpp.xml import DAP, DMRPP, Element, integer, parse_xml

NOT_VARIABLES = frozenset({"Dimension", "Attribute", "Group", "Enumeration", "Dim"})
GLOBALS = frozenset({"HDF5_GLOBAL", "NC_GLOBAL"})
MOST_LEVELS = 64
MOST_NAMES = 1 << 26
"""Characters of all full names together: a long name of a group is part of the names of all that is in it."""
MOST_CONTAINERS = 8
"""Attribute containers inside of one another."""


def parsed(data: bytes, where: str) -> Element:
    """The root of a DAP4 document. Raises `InvalidMetadata`."""
    root = parse_xml(data, where)
    if root.tag != f"{DAP}Dataset":
        raise InvalidMetadata(where, "not a DAP4 dataset")
    return root


class Document:
    """Builds the tree. Raises `InvalidMetadata` for documents whose groups or dimensions make no sense."""

    def __init__(self, root: Element, where: str, files: DataFiles) -> None:
        self._root, self._where, self._files = root, where, files
        self._dimensions: dict[str, int] = {}
        self._report: list[ReportItem] = []
        self._names = 0

    def tree(self) -> VirtualGroup:
        """The whole document, with a report."""
        self._collect(self._root, "", 0)
        found = self._group(self._root, "")
        return VirtualGroup(found.meta, found.arrays, found.groups, tuple(self._report))

    def _collect(self, node: Element, prefix: str, depth: int) -> None:
        """The lengths of all dimensions by their full names."""
        if depth > MOST_LEVELS:
            raise InvalidMetadata(self._where, f"more than {MOST_LEVELS} levels of groups")
        for item in node.findall(f"{DAP}Dimension"):
            self._dimensions[self._below(prefix, f"/{item.get('name')}")] = integer(item.get("size"))
        for item in node.findall(f"{DAP}Group"):
            self._collect(item, self._below(prefix, f"/{item.get('name')}"), depth + 1)

    def _below(self, path: str, name: str) -> str:
        """A full name. Raises `InvalidMetadata` when all of them together are too long."""
        self._names += len(path) + len(name)
        if self._names > MOST_NAMES:
            raise InvalidMetadata(self._where, f"full names of more than {MOST_NAMES} characters")
        return path + name

    def _group(self, node: Element, path: str) -> VirtualGroup:
        arrays: dict[str, VirtualArray] = {}
        for item in node:
            kind = item.tag.removeprefix(DAP)
            if not item.tag.startswith(DAP) or kind in NOT_VARIABLES:
                continue
            name = item.get("name") or ""
            below = self._below(path, f"/{name}" if path else name)
            try:
                if name in arrays:
                    raise InvalidMetadata("", f"the name {name!r} is there twice")
                self._variable(item, kind, path, below, arrays)
            except FileFault as error:
                self._report.append(refusal(below, error))
        groups: dict[str, VirtualGroup] = {}
        for item in node.findall(f"{DAP}Group"):
            name = item.get("name") or ""
            if not name.strip(".") or "/" in name or name in arrays or name in groups:
                raise InvalidMetadata(self._where, f"{name!r} is not a name, or is there twice")
            groups[name] = self._group(item, self._below(path, f"/{name}" if path else name))
        attributes, lost = read_attributes(node)
        for name in GLOBALS & attributes.keys():
            inside = attributes.pop(name)
            attributes.update(inside if isinstance(inside, dict) else {})
        if lost:
            detail = left_out("attributes", lost)
            self._report.append(ReportItem(path or "/", INCOMPLETE, Reason.CORRUPT.value, detail))
        return VirtualGroup(GroupMeta(attributes), arrays, groups)

    def _variable(self, node: Element, kind: str, path: str, below: str, arrays: dict[str, VirtualArray]) -> None:
        shape, names = self._dims(node, path)
        attributes, lost = read_attributes(node)
        array = to_array(DAPVariable(node, kind, shape, names, attributes), self._files)
        arrays[node.get("name") or ""] = array
        notes = [self._files.notes[s.url] for s in array.manifest.sources if s.url in self._files.notes]
        if lost:
            notes.append(left_out("attributes", lost))
        inlined = node.find(f"{DMRPP}compact") is not None
        self._report.append(ReportItem(below, "inlined" if inlined else "virtual", None, "; ".join(notes)))

    def _dims(self, node: Element, path: str) -> tuple[Shape, tuple[str | None, ...]]:
        shape: list[int] = []
        names: list[str | None] = []
        for dim in node.findall(f"{DAP}Dim"):
            name = dim.get("name")
            if name is None:
                shape.append(integer(dim.get("size")))
                names.append(None)
                continue
            full = name if name.startswith("/") else self._below(f"/{path}/" if path else "/", name)
            if full not in self._dimensions:
                raise InvalidMetadata("", f"unknown dimension {name!r}")
            shape.append(self._dimensions[full])
            names.append(name.rpartition("/")[2])
        return tuple(shape), tuple(names)


def read_attributes(node: Element, depth: int = 0) -> tuple[dict[str, JSON], list[str]]:
    """Attributes of a node, containers as dicts; and which ones are left out, or are not what their type says."""
    found: dict[str, JSON] = {}
    lost: list[str] = []
    for item in node.findall(f"{DAP}Attribute"):
        name, kind = item.get("name"), item.get("type") or "String"
        if name == "build_dmrpp_metadata":
            continue
        if not name or depth > MOST_CONTAINERS:
            lost.append("one without a name" if not name else f"{name} (in more than {MOST_CONTAINERS} containers)")
            continue
        if kind == "Container":
            found[name], inside = read_attributes(item, depth + 1)
            lost += inside
            continue
        texts = [v.text if v.get("value") is None else v.get("value") for v in item.findall(f"{DAP}Value")]
        values = [_value(text or "", kind) for text in texts]
        if kind in TYPES and any(isinstance(value, str) for value in values):
            lost.append(f"{name} (not numbers of type {kind}: kept as text)")
        found[name] = values[0] if len(values) == 1 else values
    return found, lost


def _value(text: str, kind: str) -> JSON:
    """A number where the type says so and the text is one, else the text."""
    try:
        if kind.startswith("Float"):
            return float(text)
        if kind in TYPES:
            return int(text)
    except ValueError:
        return text
    return text
