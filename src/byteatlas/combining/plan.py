"""Plan a combination, then do it. Planning looks at everything; doing it only moves columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import cast

import numpy as np

from byteatlas.combining.chunks.small_arrays import SMALL, inline_array
from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.context import Context, dimension_plan, establish
from byteatlas.combining.coordinates.cut_inputs import woven
from byteatlas.combining.inputs import flatten, unflatten
from byteatlas.combining.model import CombineOptions, Finding, Input, Plan, ReadArray, VariablePlan
from byteatlas.combining.variable.decide import treat
from byteatlas.combining.variable.outcome import Job, Mosaic, Ready, Run
from byteatlas.errors import BadRequest, Conflict
from byteatlas.manifest.columns import SourceMemo, assemble, concatenated_manifests
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup
from byteatlas.meta.grid import chunk_total
from byteatlas.meta.model import ArrayMeta, ChunkKeys, GroupMeta, RectilinearGrid

GROUP_META = attrgetter("group.meta")
MAX_ROUNDS = 8
"""How often files are left out and the plan made anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """Everything that was found out, and the jobs that carry it out: path -> job."""

    context: Context
    jobs: Mapping[str, Job]
    findings: tuple[Finding, ...]
    root: GroupMeta
    groups: Mapping[str, GroupMeta]
    dropped_files: tuple[str, ...] = ()
    dropped_variables: tuple[str, ...] = ()

    @property
    def conflicts(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.level == "conflict")

    @property
    def plan(self) -> Plan:
        """All of it as the values that people and machines read."""
        names = self.context.names
        return Plan(
            tuple(dict.fromkeys(names)) if self.context.woven else tuple(names),
            tuple(dimension_plan(d, names) for d in self.context.dims),
            tuple(variable_plan(path, job) for path, job in self.jobs.items()),
            self.findings,
            self.dropped_files,
            self.dropped_variables,
        )

    def result(self) -> VirtualGroup:
        """The combined group. Raises `Conflict` when there are conflicts."""
        return build(self)


def combine(
    groups: Sequence[VirtualGroup],
    options: CombineOptions,
    *,
    read: ReadArray,
    names: Sequence[str] | None = None,
) -> VirtualGroup:
    """One group from many: variables follow each other along ``options.concat``; nothing is copied but coordinates.

    Args:
        read: gives the values of a virtual array (coordinates, and small variables that must be the same everywhere).
        names: of the inputs, for messages and for coordinates from file names; default: the first file of each.

    Raises `Conflict` with one sentence for each thing that does not fit together.
    """
    return build(prepare(groups, options, read=read, names=names))


def plan_combine(
    groups: Sequence[VirtualGroup],
    options: CombineOptions,
    *,
    read: ReadArray,
    names: Sequence[str] | None = None,
) -> Plan:
    """What `combine` would do with these, conflicts included. Raises only for options that make no sense."""
    return prepare(groups, options, read=read, names=names).plan


def prepare(
    groups: Sequence[VirtualGroup],
    options: CombineOptions,
    *,
    read: ReadArray,
    names: Sequence[str] | None = None,
) -> Prepared:
    """Look at everything, and leave out what the options say may be left out."""
    if len(set(options.concat)) != len(options.concat):
        raise BadRequest(f"a dimension is named twice: {options.concat}")
    inputs = flatten(groups, names)
    dropped: list[str] = []
    findings: list[Finding] = []
    for _ in range(MAX_ROUNDS):
        prepared = look(inputs, options, read)
        conflicts = prepared.conflicts
        if not conflicts or options.on_conflict == "error":
            break
        if options.on_conflict == "drop-variable":
            return without_variables(prepared)
        bad = blamed(conflicts, [i.name for i in inputs])
        if not bad or len(bad) >= len(inputs):
            break
        dropped += [i.name for i in inputs if i.name in bad]
        findings += [replace(f, level="note", detail=f"file left out: {f.detail}") for f in conflicts]
        inputs = [i for i in inputs if i.name not in bad]
    return replace(prepared, findings=(*findings, *prepared.findings), dropped_files=tuple(dropped))


def look(inputs: Sequence[Input], options: CombineOptions, read: ReadArray) -> Prepared:
    """One plan for exactly these inputs."""
    context, findings = woven(*establish(inputs, options, read))
    jobs: dict[str, Job] = {}
    found_dims = {d.name for d in context.dims}
    if found_dims == set(options.concat):
        for path in paths(context):
            job, found = treat(path, context)
            findings += found
            if job is not None:
                jobs[path] = compact(job, context) if context.woven else job
    root, noted = root_meta(list(map(GROUP_META, inputs)), options, None)
    findings += noted
    metas: dict[str, GroupMeta] = {}
    for path in dict.fromkeys(p for i in inputs if i.groups for p in i.groups):
        metas[path], noted = root_meta([i.groups[path].meta for i in inputs if path in i.groups], options, path)
        findings += noted
    jobs = one_format(jobs, root)
    if any(meta_of(j).zarr_format == 3 for j in jobs.values()):
        root = replace(root, zarr_format=3)
        metas = {p: replace(m, zarr_format=3) for p, m in metas.items()}
    if not options.reconcile:
        findings = [refused(f, jobs) for f in findings]
    if context.woven:  # pieces have the names of their files
        findings = [replace(f, files=tuple(dict.fromkeys(f.files))) for f in findings]
    return Prepared(context, jobs, tuple(findings), root, metas)


def paths(context: Context) -> list[str]:
    """All variables in order of first appearance, and new coordinate variables."""
    first = context.inputs[0].arrays
    found = dict.fromkeys(first)
    for item in context.inputs[1:] if context.columns is None else ():
        if item.arrays.keys() != first.keys():
            found |= dict.fromkeys(item.arrays)
    for dim in context.dims:
        if dim.coordinate.path is not None and dim.coordinate.values is not None:
            found.setdefault(dim.coordinate.path)
    return list(found)


def root_meta(metas: Sequence[GroupMeta], options: CombineOptions, path: str | None) -> tuple[GroupMeta, list[Finding]]:
    """A group's metadata from those of all files."""
    kept, differing = attrs.merged([m.attributes for m in metas], options.attributes)
    note = attrs.note_dropped(path, differing, options.attributes)
    return replace(metas[0], attributes=kept), note


def one_format(jobs: dict[str, Job], root: GroupMeta) -> dict[str, Job]:
    """All arrays in version 3 when one needs it, or when the group is: one hierarchy has one version."""
    if root.zarr_format != 3 and all(meta_of(j).zarr_format != 3 for j in jobs.values()):
        return jobs
    return {path: with_meta(job, as_v3(meta_of(job))) for path, job in jobs.items()}


def as_v3(meta: ArrayMeta) -> ArrayMeta:
    if meta.zarr_format == 3:
        return meta
    return replace(meta, zarr_format=3, keys=ChunkKeys("default", "/"))


def meta_of(job: Job) -> ArrayMeta:
    return job.array.meta if isinstance(job, Ready) else job.meta


def with_meta(job: Job, meta: ArrayMeta) -> Job:
    match job:
        case Ready(array, action):
            return Ready(replace(array, meta=meta), action)
        case Run() | Mosaic():
            return replace(job, meta=meta)


def refused(finding: Finding, jobs: Mapping[str, Job]) -> Finding:
    """Without reconciliation: every difference that plain Zarr does not say is a conflict."""
    if finding.level != "reconciled":
        return finding
    return replace(finding, level="conflict")


def variable_plan(path: str, job: Job) -> VariablePlan:
    """A variable as the plan shows it."""
    meta = meta_of(job)
    action = job.action if not isinstance(job, Run) else "concatenated"
    grid = meta.grid
    if isinstance(grid, RectilinearGrid):
        chunks = " x ".join(edges_text(e) for e in grid.edges)
    else:
        chunks = " x ".join(str(c) for c in grid.chunk_shape)
    e = meta.encodings[0]
    plain = len(meta.encodings) == 1 and e.chunk_shape is None and e.data_type is None and not e.cast
    return VariablePlan(
        path,
        action,
        meta.dimension_names or (None,) * meta.ndim,
        meta.shape,
        meta.data_type.name,
        chunks,
        len(meta.encodings),
        plain and not isinstance(grid, RectilinearGrid),
        chunk_total(meta.shape, grid),
    )


def edges_text(edges: Sequence[int]) -> str:
    """Chunk lengths along an axis, the frequent ones with their count."""
    counts = Counter(edges).most_common(3)
    text = ", ".join(f"{n}*{length}" if n > 1 else str(length) for length, n in counts)
    return (
        f"({text}{', ...' if len(set(edges)) > 3 else ''})" if len(counts) > 1 else str(counts[0][0]) if counts else "0"
    )


def build(prepared: Prepared) -> VirtualGroup:
    """Carry out a plan. Raises `Conflict` when it has conflicts."""
    conflicts = prepared.conflicts
    if conflicts:
        raise Conflict([f.sentence() for f in conflicts])
    memo = SourceMemo()
    arrays = {path: built(job, memo) for path, job in prepared.jobs.items()}
    return unflatten(arrays, prepared.groups, prepared.root, None)


def built(job: Job, memo: SourceMemo) -> VirtualArray:
    match job:
        case Ready(array, _):
            return array
        case Run(meta, grid_shape, manifests):
            if set(map(type, manifests)) == {ChunkManifest}:
                loaded = cast("tuple[ChunkManifest, ...]", manifests)
                return VirtualArray(meta, concatenated_manifests(grid_shape, loaded, memo))
            return VirtualArray(meta, SegmentedManifest(grid_shape, manifests))
        case Mosaic(meta, grid_shape, pieces, _):
            return VirtualArray(meta, assemble(grid_shape, pieces))


def compact(job: Job, context: Context) -> Job:
    """A small variable that is in the map already, in many pieces, as one piece."""
    if isinstance(job, Ready) or not few(job.meta):
        return job
    manifests = job.manifests if isinstance(job, Run) else [p.manifest for p in job.pieces]
    if not any(isinstance(m, ChunkManifest) and m.inlined for m in manifests):
        return job
    values = np.asarray(context.read(built(job, SourceMemo())))
    dims = job.meta.dimension_names or (None,) * job.meta.ndim
    return Ready(inline_array(values, dims, job.meta.attributes), "inlined")


def few(meta: ArrayMeta) -> bool:
    """Whether an array has few enough elements, of fixed size, to be kept in the map."""
    dtype = meta.data_type.numpy
    return dtype.kind in "biufcSU" and math.prod(meta.shape) * dtype.itemsize <= SMALL


def without_variables(prepared: Prepared) -> Prepared:
    """The plan without the variables that are in conflict; conflicts of whole files stay."""
    bad = {f.variable for f in prepared.conflicts if f.variable is not None}
    if not prepared.jobs:
        return prepared
    findings = tuple(
        replace(f, level="note", detail=f"variable left out: {f.detail}")
        if f.level == "conflict" and f.variable in bad
        else f
        for f in prepared.findings
    )
    jobs = {p: j for p, j in prepared.jobs.items() if p not in bad}
    return replace(prepared, jobs=jobs, findings=findings, dropped_variables=tuple(sorted(bad)))


def blamed(conflicts: Sequence[Finding], names: Sequence[str]) -> set[str]:
    """The files to leave out: for each conflict the smaller side, the differing files or all others."""
    bad: set[str] = set()
    for f in conflicts:
        odd = set(f.files)
        rest = set(names) - odd
        bad |= odd if len(odd) <= len(rest) or not rest else rest
    return bad
