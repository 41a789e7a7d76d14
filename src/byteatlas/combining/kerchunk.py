"""Kerchunk's ways of saying what to combine: the arguments of `kerchunk.combine.MultiZarrToZarr`, by our rules.

Ours differ where kerchunk's results would be wrong or incomplete: differences between files are reconciled or refused,
``data:`` values in different units are refused (``cf:`` converts them), and texts that are numbers sort as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from byteatlas.combining.coordinates.sources import value_from
from byteatlas.combining.inputs import flatten
from byteatlas.combining.model import (
    ByOrder,
    CombineOptions,
    Compute,
    CoordinateSource,
    FlatInput,
    FromAttribute,
    FromName,
    FromVariable,
    Values,
)
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualGroup
from byteatlas.values import dataclass, replace

SOURCES = (FromVariable, FromAttribute, FromName, ByOrder, Values, Compute)


@dataclass(frozen=True, slots=True)
class KerchunkArguments:
    """What `multi_zarr` makes of kerchunk's arguments: give both to `combine`."""

    groups: tuple[VirtualGroup, ...]
    options: CombineOptions


def multi_zarr(
    groups: Sequence[VirtualGroup],
    concat_dims: str | Sequence[str],
    *,
    coo_map: Mapping[str, object] | None = None,
    identical_dims: Sequence[str] = (),
    names: Sequence[str] | None = None,
    options: CombineOptions | None = None,
) -> KerchunkArguments:
    """Groups and options that combine as kerchunk's ``MultiZarrToZarr`` is asked to.

    The key ``var`` of ``coo_map`` renames the only data variable of each file. ``identical_dims`` are taken from the
    first file unchecked. Raises `BadRequest` for what does not make sense.
    """
    dims = (concat_dims,) if isinstance(concat_dims, str) else tuple(concat_dims)
    spelled = dict(coo_map or {})
    apart = frozenset({*dims, *identical_dims})
    namer = spelled.pop("var", "VARNAME")
    coords = kerchunk_map(spelled, apart)
    inputs = flatten(groups, names) if groups else []
    for dim in [
        d for d, v in spelled.items() if isinstance(v, str) and v == "VARNAME"
    ]:  # their own names, not those that they get
        coords[dim] = Values(tuple(data_variable(i.name, i.group, apart) for i in inputs))
    renamed = list(groups)
    if namer != "VARNAME":
        source = kerchunk_source("var", namer, apart)
        for i, item in enumerate(inputs):
            renamed[i] = with_name(item, value_from(source, i, item), apart)
    chosen = replace(
        options or CombineOptions(), concat=tuple(d for d in dims if d != "var"), coords=coords,
        trust=(*(options.trust if options else ()), *identical_dims),
    )  # fmt: skip
    return KerchunkArguments(tuple(renamed), chosen)


def with_name(item: FlatInput, name: object, apart: frozenset[str]) -> VirtualGroup:
    """A group with its only data variable under another name."""
    if not isinstance(name, str) or not name or "/" in name:
        raise BadRequest(f"{item.name}: {name!r} is no name of a variable")
    own = data_variable(item.name, item.group, apart)
    if name != own and (name in item.group.arrays or name in item.group.groups):
        raise BadRequest(f"{item.name} has a variable {name!r} already")
    arrays = {name if k == own else k: v for k, v in item.group.arrays.items()}
    return replace(item.group, arrays=arrays)


def data_variable(file: str, group: VirtualGroup, apart: frozenset[str] = frozenset()) -> str:
    """The name of the only variable that is no coordinate. Raises `BadRequest` when there is not exactly one."""
    dims = {d for a in group.arrays.values() for d in a.meta.dimension_names or () if d is not None}
    found = [n for n in group.arrays if n not in apart and n not in dims]
    if len(found) != 1:
        many = ", ".join(found) or "none"
        raise BadRequest(f"{file}: one data variable is needed, not {many}; name the others in identical_dims")
    return found[0]


def kerchunk_map(coo_map: Mapping[str, object], apart: frozenset[str] = frozenset()) -> dict[str, CoordinateSource]:
    """Coordinate sources from kerchunk's ``coo_map`` spellings.

    ``data:var``, ``cf:var``, ``attr:name``, ``vattr:var:name``, ``INDEX``, ``VARNAME`` (the name of the file's only
    data variable), a compiled pattern, a list, or a callable ``(index, group, dim, name)``. Anything else is a
    constant. ``apart``: variables that are not data variables.
    """
    return {dim: kerchunk_source(dim, spelled, apart) for dim, spelled in coo_map.items()}


def kerchunk_source(dim: str, spelled: object, apart: frozenset[str] = frozenset()) -> CoordinateSource:
    """One of them."""
    if isinstance(spelled, SOURCES):
        return spelled
    if isinstance(spelled, re.Pattern):
        return FromName(spelled)
    if isinstance(spelled, (list, np.ndarray)):
        return Values(tuple(spelled))
    if callable(spelled):
        function = spelled
        return Compute(lambda index, name, group: function(index, group, dim, name))
    if isinstance(spelled, str):
        head, colon, rest = spelled.partition(":")
        match head, colon:
            case "data", ":":
                return FromVariable(rest or dim, decode=False)
            case "cf", ":":
                return FromVariable(rest or dim)
            case "attr", ":":
                return FromAttribute(rest)
            case "vattr", ":":
                variable, _, name = rest.partition(":")
                return FromAttribute(name, variable)
            case "INDEX", "":
                return Compute(lambda index, name, group: index)
            case "VARNAME", "":
                return Compute(lambda index, name, group: data_variable(name, group, apart))
    constant = spelled
    return Compute(lambda index, name, group: constant)
