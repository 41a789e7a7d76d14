"""A tree as ``ncdump -h`` shows files: the network Common Data form Language (CDL; NetCDF Users Guide, "CDL syntax").

Two things are not as in ncdump's output, because maps do not hold them: which dimensions are unlimited, and the exact
types of numbers in attributes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from byteatlas.describe import ArrayFacts, GroupFacts
from byteatlas.types import JSON

TYPES = {
    "int8": "byte", "uint8": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "int64": "int64", "uint64": "uint64", "float32": "float", "float64": "double", "string": "string", "bool": "ubyte",
}  # fmt: skip
SPECIAL = re.compile(r"[^\w+\-.@]|^(?=\d)", re.ASCII)
ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def header(name: str, facts: GroupFacts) -> list[str]:
    """The lines of a tree's header.

    Args:
        name: what it is called: a file's name without its suffix.
    """
    return [f"netcdf {_name(name)} {{", *_group("", facts, {}, ""), "}"]


def _group(path: str, facts: GroupFacts, above: Mapping[str, int], indent: str) -> Iterator[str]:
    """What is in one group, and in those below it."""
    start = f"{path}/" if path else ""
    here = [(p[len(start) :], node) for p, node in facts.members if p.startswith(start)]
    arrays = {n: node for n, node in here if "/" not in n and isinstance(node, ArrayFacts)}
    groups = {n: node for n, node in here if "/" not in n and isinstance(node, GroupFacts)}
    own: dict[str, int] = {}
    dims = {n: [_dim(i, array, {**above, **own}, own) for i in range(len(array.shape))] for n, array in arrays.items()}
    if own:
        yield f"{indent}dimensions:"
        yield from (f"{indent}\t{_name(dim)} = {size} ;" for dim, size in own.items())
    if arrays:
        yield f"{indent}variables:"
        for name, array in arrays.items():
            shape = f"({', '.join(map(_name, dims[name]))})" if dims[name] else ""
            yield f"{indent}\t{type_text(array.dtype)} {_name(name)}{shape} ;"
            yield from _attributes(_name(name), array.attributes, f"{indent}\t\t")
    attributes = facts.attributes if not path else dict(facts.members)[path].attributes
    if attributes:
        yield ""
        yield f"{indent}// {'group' if path else 'global'} attributes:"
        yield from _attributes("", attributes, f"{indent}\t\t")
    for name in groups:
        yield ""
        yield f"{indent}group: {_name(name)} {{"
        yield from _group(f"{start}{name}", facts, {**above, **own}, f"{indent}  ")
        yield f"{indent}  }} // group {_name(name)}"


def _dim(axis: int, array: ArrayFacts, known: Mapping[str, int], own: dict[str, int]) -> str:
    """The name of an axis, which is added to the group's own dimensions where no group above has it."""
    size = array.shape[axis]
    name = (array.dims or ())[axis] if array.dims else None
    if name is None:  # as the netCDF library calls those of HDF5 datasets without dimension scales
        same = [n for n, length in known.items() if n.startswith("phony_dim_") and length == size]
        name = same[0] if same else f"phony_dim_{sum(n.startswith('phony_dim_') for n in known)}"
    elif own.get(name, size) != size:
        name = f"{name}_{size}"  # Zarr's dimensions are names: two axes of one name may differ in length
    if known.get(name) != size:
        own[name] = size
    return name


def type_text(dtype: str) -> str:
    """A data type in CDL; one that CDL has not by its name here.

    >>> type_text("int16"), type_text("float64"), type_text(">f4"), type_text("<U8")
    ('short', 'double', 'float', 'string')
    """
    import numpy as np

    try:
        kind = np.dtype(dtype)
    except TypeError:
        return TYPES.get(dtype, _name(dtype))
    return "string" if kind.kind in "UO" else "char" if kind.kind == "S" else TYPES.get(kind.name, _name(kind.name))


def _attributes(owner: str, attributes: Mapping[str, JSON], indent: str) -> Iterator[str]:
    for name, value in attributes.items():
        yield f"{indent}{owner}:{_name(name)} = {value_text(value)} ;"


def value_text(value: JSON) -> str:
    """An attribute's value.

    >>> value_text([1, 2]), value_text(0.5), value_text('say "no"')
    ('1, 2', '0.5', '"say \\\\"no\\\\""')
    """
    match value:
        case list():
            return ", ".join(map(value_text, value)) if value else '""'
        case bool():
            return str(int(value))
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
            return repr(value).removesuffix("0") if value.is_integer() and abs(value) < 1e15 else repr(value)
        case str():
            return '"' + "".join(ESCAPES.get(c, c) for c in value) + '"'
    import json

    return value_text(json.dumps(value))


def _name(text: str) -> str:
    r"""A name with CDL's escapes before what is special in it.

    >>> _name("air"), _name("a b"), _name("2t")
    ('air', 'a\\ b', '\\2t')
    """
    return SPECIAL.sub(lambda m: f"\\{m[0]}" if m[0].isascii() else m[0], text)
