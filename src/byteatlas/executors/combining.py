"""Many files combined in parts: neighbours are combined in the process that read them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byteatlas.api.combination import prepare_combine
from byteatlas.api.indexing import load
from byteatlas.api.targets import Target, each_of
from byteatlas.arguments import VERBS, accept, wrong
from byteatlas.combining.compare.attributes import with_findings_of_parts
from byteatlas.combining.model import CombineOptions, Finding, FromVariable
from byteatlas.errors import BadRequest
from byteatlas.executors.results import Failure, TellFile, attempt
from byteatlas.executors.running import Executor, for_each
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.ops.common import in_memory
from byteatlas.progress import OnProgress, Progress, counting
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace

if TYPE_CHECKING:
    from byteatlas.api.prepared import PreparedTree

WIDTH = 64
"""Files that one task reads and combines."""
SEPARATOR = "\n"


@dataclass(frozen=True, slots=True)
class Part:
    """What one task makes of neighbouring files: a group for each, or one for all of them.

    Attributes:
        names: of the groups.
        joined: the groups are one, made of all files.
        findings: what was found while they were made one.
    """

    names: tuple[str, ...]
    groups: tuple[VirtualGroup, ...]
    failures: tuple[Failure, ...] = ()
    joined: bool = False
    findings: tuple[Finding, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """With what was read, not with where it can be read: the maps were read here for the other process."""
        groups = tuple(map(in_memory, self.groups))
        return Part, (self.names, groups, self.failures, self.joined, self.findings)


@dataclass(frozen=True, slots=True)
class Combined:
    """A combination, ready to be looked at and carried out; None when some files have no result."""

    prepared: PreparedTree | None
    failures: Mapping[str, Failure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadAndJoin:
    """Reads the files of a task, and joins them where that says no more and no less than joining all files at once.

    The manifests of a file travel between processes ten times slower than they are combined: neighbours are combined
    where they were read, and one group travels for all of them.
    """

    options: CombineOptions
    access: Access | None = None
    join: bool = True

    def __call__(self, task: str) -> Part:
        def read(name: str) -> VirtualGroup:
            node = load(name, access=self.access)
            if not isinstance(node, VirtualGroup):
                raise BadRequest(f"{name} is a single array; only groups can be combined")
            return node

        found = {name: attempt(read, name) for name in task.split(SEPARATOR)}
        groups = {n: g for n, g in found.items() if isinstance(g, VirtualGroup)}
        failures = tuple(f for f in found.values() if isinstance(f, Failure))
        names = tuple(groups)
        if self.join and not failures and len(groups) > 1 and simple(self.options):
            options = replace(self.options, on_conflict="error")
            prepared = prepare_combine(list(groups.values()), options=options, names=names, access=self.access)
            if all(f.level == "note" for f in prepared.findings):
                return Part((f"{names[0]} ... {names[-1]}",), (prepared.result(),), (), True, prepared.findings)
        return Part(names, tuple(groups.values()), failures)


def simple(options: CombineOptions) -> bool:
    """Whether parts can be combined before all is known: one dimension, with coordinate values from variables."""
    return len(options.concat) == 1 and all(isinstance(s, FromVariable) for s in options.coords.values())


def prepare_many(
    names: Sequence[Target] | Target,
    options: CombineOptions,
    executor: Executor = None,
    *,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
    width: int = WIDTH,
) -> Combined:
    """Read files (maps or archives) side by side, combine neighbours where they were read, and plan the whole.

    The plan is that of `byteatlas.plan_combine`. When it has conflicts, or coordinates interleave, files are read again
    and combined at once, so that each is named. Files that cannot be read are failures, and there is no plan then.

    Args:
        access: how bytes may be reached, in the workers too; ``storage_options`` and ``policy`` are short for one.
        progress: called after each file was read.
        width: files that one task reads.

    >>> options = ba.CombineOptions(concat=("time",))
    >>> many = ba.prepare_many(["jan.nc", "feb.nc"], options, executor="serial")
    >>> many.prepared.result()["air"].meta.shape
    (4, 4, 8)
    """
    accept({**VERBS, "names": VERBS["urls"]}, names=names, width=width, progress=progress)
    if not isinstance(options, CombineOptions):
        raise wrong("options", options, "CombineOptions")
    how = Access.of(access, storage_options, policy)
    files = [os.fspath(name) for name in each_of(names, "names", how)]
    if any(SEPARATOR in n for n in files) or not files:
        raise BadRequest("nothing to combine" if not files else "a file's name has a line break")
    if len(set(files)) != len(files):
        raise BadRequest("a file is named twice")
    for join in (True, False):
        tell = counting(progress, "combine", len(files))
        parts, failures = gathered(files, ReadAndJoin(options, how, join), executor, tell, width)
        if failures:
            return Combined(None, failures)
        groups = [g for part in parts for g in part.groups]
        titles = [n for part in parts for n in part.names]
        prepared = prepare_combine(groups, options=options, access=how, names=titles)
        joined = any(part.joined for part in parts)
        if not joined or all(f.level == "note" for f in prepared.findings):
            break
    found = [f for part in parts for f in part.findings]
    both = with_findings_of_parts(prepared.findings, found, options.attributes)
    return Combined(replace(prepared, findings=both) if found else prepared)


def gathered(
    names: Sequence[str], work: ReadAndJoin, executor: Executor, tell: TellFile, width: int
) -> tuple[list[Part], dict[str, Failure]]:
    """The parts of all files, in order, and the files that have none."""
    tasks = [SEPARATOR.join(names[i : i + width]) for i in range(0, len(names), width)]
    if len(tasks) < 2 and (executor is None or isinstance(executor, str)):
        executor = "serial"

    def told(event: Progress) -> None:
        for name in event.name.split(SEPARATOR):
            tell(name)

    outcome = for_each(work, tasks, executor, verb="combine", progress=told)
    parts: list[Part] = []
    failures: dict[str, Failure] = {}
    for task in tasks:
        found = [outcome.results[task]] if task in outcome.results else []
        if not found and SEPARATOR not in task:
            failures[task] = outcome.failures[task]
        elif not found:  # something killed the worker, or went wrong with all of them: one file at a time
            single = for_each(work, task.split(SEPARATOR), executor)
            found = list(single.results.values())
            failures |= single.failures
        parts += found
        failures |= {f.name: f for part in found for f in part.failures}
    return parts, failures
