"""Plan a combination, then do it. Planning looks at everything; doing it only moves columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from byteatlas.combining.build import built, compact_parts
from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.context import CombineContext, establish
from byteatlas.combining.coordinates.split_inputs import split_where_interleaved
from byteatlas.combining.inputs import flatten, unflatten
from byteatlas.combining.model import CombineOptions, Finding, FlatInput, Plan, ReadArray
from byteatlas.combining.summary import dimension_plan, variable_plan
from byteatlas.combining.variable.decide import decide
from byteatlas.combining.variable.treatment import Treatment, is_plain, meta_of, with_meta
from byteatlas.errors import BadRequest, Conflict
from byteatlas.manifest.kinds.recent import RecentlyRead
from byteatlas.manifest.merged_sources import SourceMemo
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import ArrayMeta, ChunkKeys, GroupMeta
from byteatlas.values import dataclass, replace

GROUP_META = attrgetter("group.meta")
MAX_ROUNDS = 8
"""How often files are left out and the plan made anew."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prepared:
    """Everything that was found out, and what becomes of each variable: path -> treatment.

    >>> ba.prepare_combine(["jan.nc", "feb.nc"], concat="time").plan.ok
    True
    """

    context: CombineContext
    treatments: Mapping[str, Treatment]
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
            tuple(dict.fromkeys(names)) if self.context.interleaved else tuple(names),
            tuple(dimension_plan(d, names) for d in self.context.dims),
            tuple(variable_plan(path, treatment) for path, treatment in self.treatments.items()),
            self.findings,
            self.dropped_files,
            self.dropped_variables,
        )

    def __repr__(self) -> str:
        return repr(self.plan).replace("<Plan", f"<{type(self).__name__}", 1)

    def result(self) -> VirtualGroup:
        """The combined group: the plan carried out. Raises `Conflict` when there are conflicts."""
        conflicts = self.conflicts
        if conflicts:
            raise Conflict([f.sentence() for f in conflicts])
        memo, recent = SourceMemo(), RecentlyRead()
        arrays = {path: built(treatment, memo, recent) for path, treatment in self.treatments.items()}
        return unflatten(arrays, self.groups, self.root, None)


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
    return prepare(groups, options, read=read, names=names).result()


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
        raise BadRequest(f"a dimension is named twice: {', '.join(options.concat)}")
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


def look(inputs: Sequence[FlatInput], options: CombineOptions, read: ReadArray) -> Prepared:
    """One plan for exactly these inputs."""
    context, findings = split_where_interleaved(*establish(inputs, options, read))
    treatments: dict[str, Treatment] = {}
    found_dims = {d.name for d in context.dims}
    if found_dims == set(options.concat):
        for path in paths(context):
            treatment, found = decide(path, context)
            findings += found
            if treatment is not None:
                treatments[path] = compact_parts(treatment, context) if context.interleaved else treatment
    root, noted = root_meta(list(map(GROUP_META, inputs)), options, None)
    findings += noted
    metas: dict[str, GroupMeta] = {}
    for path in dict.fromkeys(p for i in inputs if i.groups for p in i.groups):
        metas[path], noted = root_meta([i.groups[path].meta for i in inputs if path in i.groups], options, path)
        findings += noted
    treatments = one_format(treatments, root)
    if treatments and all(meta_of(j).zarr_format == 3 for j in treatments.values()):
        root = replace(root, zarr_format=3)
        metas = {p: replace(m, zarr_format=3) for p, m in metas.items()}
    if not options.reconcile:
        findings = [refused(f, treatments) for f in findings]
    if context.interleaved:  # parts have the names of their files
        findings = [replace(f, files=tuple(dict.fromkeys(f.files))) for f in findings]
    return Prepared(context, treatments, tuple(findings), root, metas)


def paths(context: CombineContext) -> list[str]:
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


def one_format(treatments: dict[str, Treatment], root: GroupMeta) -> dict[str, Treatment]:
    """All arrays in version 3 when the files are, or when one array is that needs nothing of ours.

    An array that only byteatlas reads does not take the others with it: they stay in version 2, and readers of that
    version do not see it.
    """
    plain = [m for m in map(meta_of, treatments.values()) if is_plain(m)]
    if root.zarr_format != 3 and all(m.zarr_format != 3 for m in plain):
        return treatments
    return {path: with_meta(treatment, as_v3(meta_of(treatment))) for path, treatment in treatments.items()}


def as_v3(meta: ArrayMeta) -> ArrayMeta:
    if meta.zarr_format == 3:
        return meta
    return replace(meta, zarr_format=3, keys=ChunkKeys("default", "/"))


def refused(finding: Finding, treatments: Mapping[str, Treatment]) -> Finding:
    """Without reconciliation: every difference that plain Zarr does not say is a conflict."""
    if finding.level != "reconciled":
        return finding
    return replace(finding, level="conflict")


def without_variables(prepared: Prepared) -> Prepared:
    """The plan without the variables that are in conflict; conflicts of whole files stay."""
    bad = {f.variable for f in prepared.conflicts if f.variable is not None}
    if not prepared.treatments:
        return prepared
    findings = tuple(
        replace(f, level="note", detail=f"variable left out: {f.detail}")
        if f.level == "conflict" and f.variable in bad
        else f
        for f in prepared.findings
    )
    treatments = {p: j for p, j in prepared.treatments.items() if p not in bad}
    return replace(prepared, treatments=treatments, findings=findings, dropped_variables=tuple(sorted(bad)))


def blamed(conflicts: Sequence[Finding], names: Sequence[str]) -> set[str]:
    """The files to leave out: for each conflict the smaller side, the differing files or all others."""
    bad: set[str] = set()
    for f in conflicts:
        odd = set(f.files)
        rest = set(names) - odd
        bad |= odd if len(odd) <= len(rest) or not rest else rest
    return bad
