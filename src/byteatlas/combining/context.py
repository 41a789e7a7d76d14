"""What is known before variables are looked at: the inputs, the dimensions, the variables that others refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from posixpath import commonpath
from typing import cast

from byteatlas.combining.compare.bulk import KnownEncodings
from byteatlas.combining.coordinates.find import Coordinate, coordinate
from byteatlas.combining.coordinates.order import Arranged, arrange
from byteatlas.combining.coordinates.times import TimeUnits, is_time
from byteatlas.combining.model import BlockNumber, CombineOptions, Finding, FlatInput, ReadArray
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.model import ArrayMeta
from byteatlas.values import dataclass, field, replace


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """One concatenated dimension.

    Attributes:
        arranged: runs of inputs along it.
        lengths: the length of each run.
        new: no variable of the files has it.
    """

    name: str
    coordinate: Coordinate
    arranged: Arranged
    lengths: tuple[int, ...]
    new: bool

    @property
    def single(self) -> bool:
        """Each input has a run of its own."""
        return len(self.lengths) == len(self.arranged.block_of)


@dataclass(frozen=True, slots=True, eq=False)
class CombineContext:
    """Everything that the treatment of one variable may ask.

    Attributes:
        columns: the arrays of each path in all inputs, where all have the same paths.
        helpers: names of variables that others refer to (``coordinates``, ``bounds``, ``grid_mapping``...), and of
            dimensions: a new dimension is not added to them.
        bounds: bounds variables of converted time coordinates: path -> (own units of each input, common units).
        owners: bounds variables of times: path -> path of the time.
        grid_mappings: names of variables that describe coordinate reference systems.
        known_encodings: what is known of the encodings of the variable that was looked at last.
        interleaved: inputs were split, because their coordinates interleave or overlap: there may be several inputs of
            one file.
    """

    inputs: Sequence[FlatInput]
    columns: Mapping[str, Sequence[VirtualArray]] | None
    names: Sequence[str]
    options: CombineOptions
    read: ReadArray
    dims: tuple[Dimension, ...]
    helpers: frozenset[str]
    bounds: dict[str, tuple[tuple[TimeUnits, ...], TimeUnits]]
    owners: Mapping[str, str] = field(default_factory=dict)
    grid_mappings: frozenset[str] = frozenset()
    interleaved: bool = False
    known_encodings: KnownEncodings = field(default_factory=KnownEncodings)


def establish(
    inputs: Sequence[FlatInput], options: CombineOptions, read: ReadArray
) -> tuple[CombineContext, list[Finding]]:
    """Coordinate values and the order of inputs along each dimension."""
    names = [i.name for i in inputs]
    findings: list[Finding] = []
    dims = []
    for name in options.concat:
        dim, found = dimension(name, inputs, names, options, read)
        findings += found
        if dim is not None:
            dims.append(dim)
    unsorted = [d.name for d in dims if d.coordinate.values is None]
    if len(options.concat) > 1 and unsorted and not any(f.level == "conflict" for f in findings):
        raise BadRequest(
            f"several dimensions need coordinate values for each; there are none for {', '.join(unsorted)}"
        )
    columns = columns_of(inputs)
    bounds = {
        path: (d.coordinate.own_units, d.coordinate.time)
        for d in dims
        if d.coordinate.own_units and d.coordinate.time is not None
        for path in bounds_of(d.coordinate, inputs)
    }
    some = inputs if columns is None else inputs[:1]
    named, owners = frozenset(helpers(some)), owners_of_bounds(some)
    grids = frozenset(grid_mappings_of(some))
    placed = tuple(at_home(d, named, some, options) for d in dims)
    return CombineContext(inputs, columns, names, options, read, placed, named, bounds, owners, grids), findings


def at_home(dim: Dimension, named: frozenset[str], inputs: Sequence[FlatInput], options: CombineOptions) -> Dimension:
    """The coordinate of a new dimension in the deepest group that has all variables which get it.

    Whoever opens that group alone sees the coordinate too.
    """
    if not dim.new or dim.coordinate.path != dim.name or any(dim.name in i.arrays for i in inputs):
        return dim
    stack = options.stack
    getting = {
        path.rpartition("/")[0]
        for item in inputs
        for path in item.arrays
        if (path in stack if stack is not None else path.rpartition("/")[2] not in named)
    }
    home = commonpath(getting) if getting else ""
    return replace(dim, coordinate=replace(dim.coordinate, path=f"{home}/{dim.name}")) if home else dim


def columns_of(inputs: Sequence[FlatInput]) -> Mapping[str, Sequence[VirtualArray]] | None:
    """The arrays of each path in all inputs; None unless all inputs have the same paths in the same order."""
    members = [i.arrays for i in inputs]
    order, n = list(members[0]), len(members)
    if list(map(len, members)).count(len(order)) != n or list(chain.from_iterable(members)) != order * n:
        return None
    arrays = list(chain.from_iterable([m.values() for m in members]))
    return {path: arrays[k :: len(order)] for k, path in enumerate(order)}


def dimension(
    name: str, inputs: Sequence[FlatInput], names: Sequence[str], options: CombineOptions, read: ReadArray
) -> tuple[Dimension | None, list[Finding]]:
    coord, findings = coordinate(name, inputs, options, read)
    if any(f.level == "conflict" for f in findings):
        return None, findings
    if coord.values is not None and coord.lengths:
        arranged, odd = arrange(name, coord.values, names, options.order)
        return Dimension(name, coord, arranged, tuple(map(len, arranged.blocks)), False), findings + odd
    sizes = [size_of(name, item) for item in inputs]
    new = all(s is None for s in sizes)
    if coord.values is None:
        lengths = [1 if s is None else s for s in sizes]
        arranged = Arranged(cast("tuple[BlockNumber, ...]", tuple(range(len(inputs)))), (), "given")
        return Dimension(name, coord, arranged, tuple(lengths), new), findings
    if coord.scalar and coord.path == name and any(s not in (None, 1) for s in sizes):
        return tiles(coord, sizes, names, options)
    wrong = [
        i
        for i, (size, v) in enumerate(zip(sizes, coord.values, strict=True))
        if len(v) != (1 if size is None else size)
    ]
    if wrong:
        i = wrong[0]
        detail = f"{len(coord.values[i])} coordinate values from {coord.source}, but {name!r} has length {sizes[i]}"
        return None, [*findings, Finding("conflict", "length", coord.path, tuple(names[i] for i in wrong), detail)]
    arranged, odd = arrange(name, coord.values, names, options.order)
    return Dimension(name, coord, arranged, tuple(map(len, arranged.blocks)), new), findings + odd


def tiles(
    coord: Coordinate, sizes: Sequence[int | None], names: Sequence[str], options: CombineOptions
) -> tuple[Dimension | None, list[Finding]]:
    """One value for each file along a dimension that the files have: the place of the file, no coordinate of points.

    The result has no coordinate variable made of it; one that the files have is concatenated as any other variable.
    """
    arranged, findings = arrange(coord.dim, coord.values or (), names, options.order)
    lengths: list[int | None] = [None] * len(arranged.blocks)
    for i, (block, size) in enumerate(zip(arranged.block_of, sizes, strict=True)):
        if size is None or lengths[block] not in (None, size):
            detail = f"{coord.dim!r} has length {size}, but {lengths[block]} in files of the same {coord.source}"
            return None, [*findings, Finding("conflict", "length", None, (names[i],), detail)]
        lengths[block] = size
    known = tuple(n for n in lengths if n is not None)
    detail = f"one value for each file orders files along {coord.dim!r}; no coordinate is made of it"
    findings.append(Finding("note", "coordinate", None, (), detail))
    return Dimension(coord.dim, replace(coord, path=None, attributes=None), arranged, known, False), findings


def size_of(dim: str, item: FlatInput) -> int | None:
    """The length of a dimension in one input: of its coordinate variable, or the longest variable of the first group
    that has it (variables may be written in part)."""
    own = item.arrays.get(dim)
    found: int | None = None
    group: str | None = None
    for path, array in {dim: own}.items() if own is not None and own.meta.ndim else item.arrays.items():
        dims, parent = array.meta.dimension_names, path.rpartition("/")[0]
        if dims is not None and dim in dims and group in (None, parent):
            found, group = max(found or 0, array.meta.shape[dims.index(dim)]), parent
    return found


def concat_axes(meta: ArrayMeta, context: CombineContext) -> dict[int, Dimension]:
    """The axes of an array that are concatenated dimensions."""
    names = meta.dimension_names
    if names is None:
        return {}
    return {names.index(d.name): d for d in context.dims if d.name in names}


def bounds_of(coord: Coordinate, inputs: Sequence[FlatInput]) -> Iterable[str]:
    """Paths of the bounds variables of a coordinate; they have its units without saying so."""
    return {} if coord.path is None else owners_of_bounds([i for i in inputs if coord.path in i.arrays], coord.path)


def owners_of_bounds(inputs: Sequence[FlatInput], only: str | None = None) -> dict[str, str]:
    """For each bounds variable of a time the path of that time, in any input. ``only``: of this one."""
    found: dict[str, str] = {}
    for item in inputs:
        for path in item.arrays if only is None else (only,):
            attributes = item.arrays[path].meta.attributes
            if is_time(attributes.get("units")):
                parent = path.rpartition("/")[0]
                for name in [v for k in ("bounds", "climatology") if isinstance(v := attributes.get(k), str)]:
                    found[f"{parent}/{name}" if parent else name] = path
    return found


REFERRING = ("coordinates", "bounds", "climatology", "grid_mapping")


def helpers(inputs: Sequence[FlatInput]) -> set[str]:
    """Names of dimensions and of variables that others refer to, in the first input that has each variable."""
    seen: set[str] = set()
    found: set[str] = set()
    previous: object = None
    for item in inputs:
        if item.arrays.keys() == previous:
            continue
        previous = item.arrays.keys()
        for path, array in item.arrays.items():
            if path not in seen:
                seen.add(path)
                found |= referred(array)
    return found


def grid_mappings_of(inputs: Sequence[FlatInput]) -> set[str]:
    """Names of variables that attributes ``grid_mapping`` refer to, or that describe one themselves."""
    found: set[str] = set()
    for item in inputs:
        for path, array in item.arrays.items():
            attributes = array.meta.attributes
            if isinstance(text := attributes.get("grid_mapping"), str):
                found |= {word.rstrip(":") for word in text.split()}
            if array.meta.ndim == 0 and not attributes.keys().isdisjoint(("grid_mapping_name", "crs_wkt")):
                found.add(path.rpartition("/")[2])
    return found


def referred(array: VirtualArray) -> set[str]:
    found = {d for d in array.meta.dimension_names or () if d}
    for name in REFERRING:
        text = array.meta.attributes.get(name)
        if isinstance(text, str):
            found |= {word.rstrip(":") for word in text.split()}
    return found
