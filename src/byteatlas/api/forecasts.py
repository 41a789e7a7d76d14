"""A collection of forecasts by the time that they are for: the newest run that has it, or one that is old enough.

Arrays of a collection have the dimensions time (of the run) and step, with one chunk for each. By run and by step are
plain selections (`byteatlas.select`). What is left is the diagonal: a moment is in several runs, at different steps.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.opening import open as open_node
from byteatlas.api.targets import access_for
from byteatlas.api.tree import VirtualTree, tree
from byteatlas.arguments import VERBS, accept
from byteatlas.array import Array, Group
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import MISSING, ChunkManifest, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import replace

VALID, TIME, STEP = "valid_time", "time", "step"
UNITS: Mapping[str, int] = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


def by_valid_time(
    group: VirtualGroup,
    *,
    at_least: float = 0.0,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
) -> VirtualTree:
    """The group with the dimension ``valid_time`` in the place of ``time`` and ``step``; no data are read.

    For each moment the newest run counts that has it at a step of ``at_least`` hours or more. With 0 this is the best
    estimate; with 24 what was known a day before. Arrays without both dimensions stay as they are, but for coordinates
    along one of them, which lose their meaning and are left out. A moment that an array has in no run is left out of
    it by being missing. ``access`` says how coordinates may be reached, as in `byteatlas.select`.

    Raises `BadRequest` when no array has the dimensions, or when chunks hold more than one run or step.

    >>> runs = ba.scan("fixtures/grib/gfs.grib2").groups["surface"]
    >>> ba.by_valid_time(runs)["t"].meta.dimension_names
    ('valid_time', 'latitude', 'longitude')
    """
    accept(VERBS, at_least=at_least)
    how = access_for(group, access, storage_options, policy)
    root = open_node(group, access=how)
    assert isinstance(root, Group)
    found = _group(group, root, round(at_least * 3600))
    if not any(
        isinstance(node, VirtualArray) and VALID in (node.meta.dimension_names or ()) for _, node in found.walk()
    ):
        raise BadRequest("no array has the dimensions time and step of a collection of forecasts")
    return tree(found, how)


def _group(group: VirtualGroup, opened: Group, least: int) -> VirtualGroup:
    arrays: dict[str, VirtualArray] = {}
    axes: dict[tuple[str, str], _Diagonal] = {}
    for name, array in group.arrays.items():
        dims = array.meta.dimension_names or ()
        pair = _pair(dims)
        if pair is None:
            if not any(_is(dim, TIME) or _is(dim, STEP) for dim in dims if dim):
                arrays[name] = array
            continue
        if not (array.manifest.load().source >= 0).any():
            continue  # a coordinate in the map: valid times, bounds
        if pair not in axes:
            axes[pair] = _diagonal(opened, pair, least, VALID if not axes else f"{VALID}_{len(axes) + 1}")
        arrays[name] = _on_diagonal(name, array, axes[pair])
    for diagonal in axes.values():
        arrays[diagonal.name] = _coordinate(diagonal)
    groups = {}
    for name, below in group.groups.items():
        child = opened[name]
        assert isinstance(child, Group)
        groups[name] = _group(below, child, least)
    return replace(group, arrays=arrays, groups=groups)


def _is(dim: str, kind: str) -> bool:
    """Whether a dimension is of a kind: ``step``, or another set of steps such as ``step_2``."""
    return dim == kind or (dim.startswith(f"{kind}_") and dim[len(kind) + 1 :].isdigit())


def _pair(dims: tuple[str | None, ...]) -> tuple[str, str] | None:
    if len(dims) > 1 and dims[0] and dims[1] and _is(dims[0], TIME) and _is(dims[1], STEP):
        return dims[0], dims[1]
    return None


class _Diagonal:
    """Valid times, and for each its places (run, step), the newest run first."""

    def __init__(self, name: str, times: NDArray[np.int64], steps: NDArray[np.int64], least: int) -> None:
        valid = times[:, None] + steps[None, :]
        allowed = np.broadcast_to(steps >= least, valid.shape)
        self.name = name
        self.values: NDArray[np.int64] = np.unique(valid[allowed])
        self.places = [
            sorted(np.argwhere(allowed & (valid == value)).tolist(), key=lambda place: -int(times[place[0]]))
            for value in self.values
        ]


def _diagonal(opened: Group, pair: tuple[str, str], least: int, name: str) -> _Diagonal:
    return _Diagonal(name, _seconds(opened[pair[0]]), _seconds(opened[pair[1]]), least)


def _seconds(node: Array | Group) -> NDArray[np.int64]:
    """Values of a coordinate in seconds; times are counted from 1970 as GRIB's are."""
    assert isinstance(node, Array)
    unit, _, since = str(node.attrs.get("units", "")).partition(" since ")
    if unit not in UNITS or (since and not since.startswith("1970-01-01")):
        raise BadRequest(f"coordinate {node.path}: units {node.attrs.get('units')} are not those of forecasts")
    values: NDArray[np.int64] = np.asarray(node[...]).astype(np.int64) * UNITS[unit]
    return values


def _on_diagonal(name: str, array: VirtualArray, diagonal: _Diagonal) -> VirtualArray:
    meta, manifest = array.meta, array.manifest.load()
    if not isinstance(meta.grid, RegularGrid) or meta.grid.chunk_shape[:2] != (1, 1):
        raise BadRequest(f"array {name}: a chunk holds more than one run or step")
    runs, steps, *rest = manifest.grid_shape
    rows = np.arange(len(manifest.source)).reshape(runs, steps, -1)
    picked = np.concatenate([_newest(places, rows, manifest) for places in diagonal.places])
    columns = replace(
        manifest,
        grid_shape=(len(diagonal.values), *rest),
        source=manifest.source[picked],
        offset=manifest.offset[picked],
        length=manifest.length[picked],
        encoding=None if manifest.encoding is None else manifest.encoding[picked],
        inlined={i: manifest.inlined[row] for i, row in enumerate(picked.tolist()) if row in manifest.inlined},
    )
    names = (diagonal.name, *(meta.dimension_names or ())[2:])
    attributes = {key: value for key, value in meta.attributes.items() if key not in ("coordinates", "step_bounds")}
    shape = (len(diagonal.values), *meta.shape[2:])
    grid = RegularGrid((1, *meta.grid.chunk_shape[2:]))
    encodings = tuple(
        encoding if encoding.chunk_shape is None else replace(encoding, chunk_shape=(1, *encoding.chunk_shape[2:]))
        for encoding in meta.encodings
    )
    return VirtualArray(
        replace(meta, shape=shape, grid=grid, encodings=encodings, dimension_names=names, attributes=attributes),
        columns,
    )


def _newest(places: list[list[int]], rows: NDArray[np.int64], manifest: ChunkManifest) -> NDArray[np.int64]:
    """The rows of the first place that has any chunk; of the newest run where none has."""
    for run, step in places:
        here: NDArray[np.int64] = rows[run, step]
        if bool((manifest.source[here] != MISSING).any()):
            return here
    run, step = places[0]
    newest: NDArray[np.int64] = rows[run, step]
    return newest


def _coordinate(diagonal: _Diagonal) -> VirtualArray:
    words: dict[str, JSON] = {
        "standard_name": "time", "long_name": "time", "units": "seconds since 1970-01-01",
        "calendar": "proleptic_gregorian",
    }  # fmt: skip
    values = diagonal.values.astype("<i8")
    meta = ArrayMeta(
        values.shape, from_numpy(np.dtype("i8")), RegularGrid(values.shape),
        (Encoding((CodecSpec("bytes", {"endian": "little"}),)),), None, (diagonal.name,), words,
    )  # fmt: skip
    return VirtualArray(meta, inline_manifest((1,), {0: values.tobytes()}))
