"""Combining as kerchunk's `MultiZarrToZarr` is asked to: `multi_zarr`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.appending import append as append_to
from byteatlas.api.combination import Input, inputs_as_groups
from byteatlas.api.indexing import load
from byteatlas.api.reading import check_options, reader
from byteatlas.api.targets import Target, expect, given_access
from byteatlas.api.tree import VirtualTree, access_of, tree
from byteatlas.api.writing import write
from byteatlas.arguments import FUNCTION, NAMED, TEXTS, VERBS, accept, accept_fields, whole
from byteatlas.array.writing.create import numpy_type
from byteatlas.combining import CombineOptions
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.coordinates.times import parse_units
from byteatlas.combining.kerchunk import multi_zarr as arguments_of
from byteatlas.combining.plan import combine
from byteatlas.errors import BadRequest, unknown
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.inline import InlineOptions, inline
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace

Process = Callable[[dict[str, Any]], Mapping[str, Any]]
"""References of version 0 (key -> reference) -> references."""
CALENDARS = (None, "standard", "gregorian", "proleptic_gregorian")
UNITS = {
    "D": "days", "h": "hours", "m": "minutes", "s": "seconds",
    "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}  # fmt: skip
"""Units of time that `combine` can be asked for, by NumPy's names."""


MULTI_ZARR_OPTIONS = {
    "coo_dtypes": NAMED,
    "identical_dims": TEXTS,
    **dict.fromkeys(("preprocess", "postprocess"), FUNCTION | None),
    "inline_threshold": whole(),
}


@dataclass(frozen=True, slots=True)
class MultiZarrOptions:
    """What kerchunk's ``MultiZarrToZarr`` can be told beside dimensions and coordinates.

    Attributes:
        coo_dtypes: types of combined coordinates by name. ``M8[unit]`` makes dates of times.
        identical_dims: variables taken from the first file unchecked.
        preprocess: changes the references (version 0) of each input, or gives others.
        postprocess: changes those of the result, or gives others.
        inline_threshold: bytes; shorter chunks of the result are read, and kept in the map. 0: none.

    >>> vg = ba.multi_zarr(["jan.nc", "feb.nc"], ["time"], identical_dims=["lat", "lon"])
    >>> vg["time"].meta.shape
    (4,)
    """

    coo_dtypes: Mapping[str, Any] = field(default_factory=dict)
    identical_dims: Sequence[str] = ()
    preprocess: Process | None = None
    postprocess: Process | None = None
    inline_threshold: int = 0

    def __post_init__(self) -> None:
        accept_fields(MULTI_ZARR_OPTIONS, self)


def multi_zarr(
    path: Sequence[Input] | Target,
    concat_dims: str | Sequence[str],
    coo_map: Mapping[str, object] | None = None,
    *,
    out: Target | MutableMapping[str, JSON] | None = None,
    append: bool = False,
    names: Sequence[str] | None = None,
    options: CombineOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    **more: Any,
) -> VirtualTree:
    """Combine maps or archives with the arguments of kerchunk's ``MultiZarrToZarr``.

    Args:
        path: what `combine` takes, references as dicts among them.
        coo_map: where coordinate values come from, in kerchunk's spelling: ``data:var``, ``cf:var``, ``attr:name``,
            ``vattr:var:name``, ``INDEX``, ``VARNAME``, a compiled pattern, a list or a callable.
        out: where the result is written as well: what `write` takes.
        append: add the inputs to what is in ``out`` already, along a single dimension.
        names: of the inputs, for patterns; None = their paths.
        options: everything else that `combine` can be told.
        access: how bytes may be reached; ``storage_options`` and ``policy`` are short for one.
        more: the options of `MultiZarrOptions`, by name.

    Returns: the combined group; with ``append`` all that is in ``out`` then.

    Raises what `combine`, `append` and `write` raise.

    >>> vg = ba.multi_zarr(["jan.nc", "feb.nc"], ["time"], {"time": "cf:time"})
    >>> vg["air"].meta.shape
    (4, 4, 8)
    """
    accept(VERBS, coo_map=coo_map, append=append, names=names, concat=concat_dims)
    expect(options, CombineOptions, "options")
    check_options(MultiZarrOptions, more)
    how = MultiZarrOptions(**more)
    if append and out is None:
        raise BadRequest("append adds to what is in out=: say what that is")
    access = given_access(access, storage_options, policy)
    groups, own = inputs_as_groups(path, access, None)
    if how.preprocess is not None:
        groups = [_processed(group, how.preprocess) for group in groups]
    reach = access or access_of(groups)
    spelled = arguments_of(
        groups, concat_dims, coo_map=coo_map, identical_dims=how.identical_dims, names=names or own, options=options
    )
    chosen = _with_units(spelled.options, how.coo_dtypes)
    found = combine(spelled.groups, chosen, read=reader(reach), names=names or own)
    result = tree(_with_types(found, how.coo_dtypes, reach), reach)
    if append and out is not None:
        append_to(out, [result], chosen.concat, access=access)
        result = tree(group_of(load(out, access=access)), reach)
    if how.inline_threshold:
        result = tree(group_of(inline(result, reach.pool(), InlineOptions(how.inline_threshold))), reach)
    if how.postprocess is not None:
        result = tree(_processed(result, how.postprocess), reach)
    if out is not None and (not append or how.postprocess is not None or how.inline_threshold):
        write(result, out, access=reach)
    return result


def _processed(group: VirtualGroup, process: Process) -> VirtualGroup:
    """A group whose references went through a function."""
    refs: dict[str, JSON] = {}
    write(group, refs, format="json-v0")
    changed = process(refs)
    return group_of(load(dict(refs if changed is None else changed), access=group.access))


def group_of(node: VirtualNode) -> VirtualGroup:
    """Raise `BadRequest` for a single array."""
    if isinstance(node, VirtualArray):
        raise BadRequest("references of a single array; a group was expected")
    return node


def _with_units(options: CombineOptions, types: Mapping[str, Any]) -> CombineOptions:
    """Dates are counted from 1970 on: the combined time gets these units, where nobody chose others."""
    units = {_unit(t) for t in map(numpy_type, types.values()) if t.kind == "M"} - {None}
    if options.units is not None or not units:
        return options
    if len(units) > 1:
        raise BadRequest("coo_dtypes: dates of one unit were expected")
    return replace(options, units=f"{units.pop()} since 1970-01-01")


def _with_types(group: VirtualGroup, types: Mapping[str, Any], access: Access) -> VirtualGroup:
    arrays = dict(group.arrays)
    for name, wanted in types.items():
        if name not in arrays:
            raise unknown("coordinate", name, arrays)
        arrays[name] = _cast(name, arrays[name], numpy_type(wanted), reader(access)(arrays[name]))
    return replace(group, arrays=arrays) if types else group


def _cast(name: str, array: VirtualArray, wanted: np.dtype[Any], values: NDArray[Any]) -> VirtualArray:
    """A coordinate with values of another type. Raises `BadRequest` where they are not the same values then."""
    attributes = dict(array.meta.attributes)
    if wanted.kind == "M":
        values = _dates(name, values, wanted, attributes)
    try:
        cast = values.astype(wanted)
        same = wanted.kind == "f" or bool((cast.astype(values.dtype) == values).all())
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRequest(f"{name} cannot become {wanted}: {error}") from error
    if not same:
        raise BadRequest(f"{name} has values that {wanted} cannot hold")
    dims = array.meta.dimension_names or (None,) * array.meta.ndim
    return inline_array(cast, dims, attributes, array.meta.zarr_format)


def _dates(name: str, values: NDArray[Any], wanted: np.dtype[Any], attributes: dict[str, JSON]) -> NDArray[Any]:
    unit = _unit(wanted)
    units, calendar = attributes.pop("units", None), attributes.pop("calendar", None)
    if values.dtype.kind == "M":
        return values
    if unit is None or calendar not in CALENDARS or not _same_units(units, f"{unit} since 1970-01-01"):
        known = ", ".join(f"M8[{u}]" for u in UNITS)
        raise BadRequest(
            f"{name} is counted in {units} ({calendar}): no {wanted} ({known} are possible for real dates)"
        )
    counts = np.rint(values).astype(np.int64)
    if not bool((counts == values).all()):
        raise BadRequest(f"{name} has values between those of {wanted}")
    dates: NDArray[Any] = counts.view(wanted)
    return dates


def _same_units(units: JSON, wanted: str) -> bool:
    """Whether units of a real calendar mean the same, however they are spelled (``1970-01-01T00:00:00``)."""
    found, other = parse_units(units), parse_units(wanted)
    return found is not None and other is not None and (found.unit, found.reference) == (other.unit, other.reference)


def _unit(kind: np.dtype[Any]) -> str | None:
    """The unit of a type of dates in words; None for one that `combine` does not know."""
    return next((word for short, word in UNITS.items() if kind == np.dtype(f"M8[{short}]")), None)
