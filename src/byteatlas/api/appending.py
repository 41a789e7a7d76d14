"""New files onto a map that exists, in place: `append`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from byteatlas.api.combination import Input, inputs_as_groups
from byteatlas.api.indexing import load
from byteatlas.api.reading import chosen, reader
from byteatlas.api.targets import Target, given_access
from byteatlas.api.tree import access_of
from byteatlas.api.writing import write
from byteatlas.arguments import VERBS, accept
from byteatlas.errors import BadRequest, Conflict
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import ICECHUNK, absolute
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.progress import OnProgress
from byteatlas.types import JSON
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from byteatlas.combining import CombineOptions
    from byteatlas.combining.append import Appended

TRIES = 8
"""How often an addition is made anew because others wrote the map meanwhile."""


def append(
    target: Target | MutableMapping[str, JSON],
    inputs: Sequence[Input] | Target,
    concat: str | Sequence[str] = (),
    *,
    options: CombineOptions | None = None,
    replace: bool = False,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
    policy: Policy | None = None,
    progress: OnProgress | None = None,
    **more: Any,
) -> Appended:
    """Add files to a combined map, in place. Of a Parquet map only the part files that change are written.

    Args:
        target: the map, by path or URL, or its references as a dict.
        inputs: what `combine` takes. One whose coordinate values and references are in the map already is passed over.
        replace: one with the same coordinate values and other references takes the place of the older one, instead of
            being a conflict.
        access: how all of it may be reached; ``storage_options`` and ``policy`` are short for one.

    Several processes may append to one map; they take turns, with a lock beside the map. Object storage (through
    obstore, or S3 through s3fs) replaces the map only if it is still the one that was read; where it is not, what was
    added by others is read first. Other storage is looked at again before it is written.

    An Icechunk repository (``icechunk:URL``, ``?branch=NAME`` for another branch than main) gets one commit, with the
    chunks that are new.

    Raises `Conflict` and `Forbidden` as `combine` and `write` do, and `Conflict` when others keep the map for too long;
    the map is unchanged then.

    >>> ba.write(ba.scan("jan.nc"), "growing.json")
    >>> ba.append("growing.json", ["feb.nc"], concat="time")
    Appended(added=('feb.nc',), skipped=(), replaced=())
    """
    accept(VERBS, replace=replace, progress=progress)
    asked = _Asked(
        inputs, chosen(concat, options, more), replace, given_access(access, storage_options, policy), progress
    )
    if isinstance(target, MutableMapping):
        return _to_references(target, asked)
    from byteatlas.io.writing.leases import one_writer
    from byteatlas.io.writing.versions import Overtaken

    if not isinstance(target, (str, os.PathLike)):
        raise BadRequest(f"{type(target).__name__} is no path, URL or dict")
    from byteatlas.io.kind import is_repository_url

    url = os.fspath(target)
    if "\0" in url:
        raise BadRequest("the path has a zero byte in it")
    repository = is_repository_url(url)
    with nullcontext(_nothing) if repository else one_writer(url, asked.access or DEFAULT) as renew:
        for _ in range(TRIES):
            try:
                return _to_repository(url, asked) if repository else _to_map(url, asked, renew)
            except Overtaken:
                continue
    raise Conflict([f"{url} was written by others {TRIES} times while this was added: nothing was added"], "append")


def _nothing() -> None:
    """Icechunk's commits need no lock that would have to be renewed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be added, and how."""

    inputs: Sequence[Input] | Target
    options: CombineOptions
    replacing: bool
    access: Access | None
    progress: OnProgress | None


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """What was found to do. ``result`` is the map as it is to be, None when it has all of it already."""

    report: Appended
    result: VirtualGroup | None
    groups: Sequence[VirtualGroup]
    access: Access


def _to_references(target: MutableMapping[str, JSON], asked: _Asked) -> Appended:
    found = _added(target, "the map", asked)
    if found.result is not None:
        write(found.result, target, format="json" if "refs" in target else "json-v0", access=found.access)
    return found.report


def _to_repository(url: str, asked: _Asked) -> Appended:
    """Add to an Icechunk repository in one commit, made of the version that was read."""
    from byteatlas.manifest.foreign.icechunk import IcechunkOptions, place_of_url, tip_of, write_icechunk
    from byteatlas.manifest.origin import check_written

    place = place_of_url(url)
    branch, reach = place.branch or "main", asked.access or DEFAULT
    tip = tip_of(place, reach)
    found = _added(f"{ICECHUNK}{place.url}?snapshot={tip}", url, asked)
    if found.result is None:
        return found.report
    for group in found.groups:
        for _, node in group.walk():
            if isinstance(node, VirtualArray):
                node.manifest.load()  # now its sources are known
    result, policy = found.result, found.access.policy
    check_written(result, policy)
    message = f"{len(found.report.added)} added, {len(found.report.replaced)} replaced"
    options = IcechunkOptions("append", branch, message)
    write_icechunk(result, absolute(place.url).rstrip("/"), options, access=found.access, snapshot=tip)
    return found.report


def _to_map(url: str, asked: _Asked, renew: Callable[[], None]) -> Appended:
    """Read the map, add to it, and write it if it is still the one that was read."""
    from byteatlas.combining.update import update_parquet
    from byteatlas.io.locks import version_of
    from byteatlas.io.writing.versions import Overtaken
    from byteatlas.manifest.origin import check_written
    from byteatlas.manifest.references import is_parquet_map, write_references

    reach = asked.access or DEFAULT
    parquet = is_parquet_map(url, reach)
    document = f"{url.rstrip('/')}/.zmetadata" if parquet else url
    before = version_of(document, reach)
    found = _added(url, url, asked)
    if found.result is None:
        return found.report
    if version_of(document, reach) != before:
        raise Overtaken(url)
    if parquet:
        for group in found.groups:
            for _, node in group.walk():
                if isinstance(node, VirtualArray):
                    node.manifest.load()  # now its sources are known
        check_written(found.result, found.access.policy)
        update_parquet(found.result, url, access=found.access, version=before, renew=renew)
    else:  # in its form, whatever its name says
        renew()
        write_references(found.result, url, "json", access=found.access, version=before)
    return found.report


def _added(target: Target | Mapping[str, JSON], name: str, asked: _Asked) -> _Found:
    """The map with the inputs added; nothing is written."""
    from byteatlas.combining.append import append as append_groups

    existing = load(target, access=asked.access)
    if isinstance(existing, VirtualArray):
        raise BadRequest(f"{name} is a single array; only groups can be appended to")
    groups, names = inputs_as_groups(asked.inputs, asked.access, asked.progress)
    how = access_of([existing, *groups]) if asked.access is None else asked.access
    addition = append_groups(existing, groups, asked.options, read=reader(how), names=names, replacing=asked.replacing)
    result = None if addition.prepared is None else addition.prepared.result()
    return _Found(addition.report, result, groups, how)
