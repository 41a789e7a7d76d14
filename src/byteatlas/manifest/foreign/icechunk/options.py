"""How repositories are named and written."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias, get_args

from byteatlas.errors import BadRequest
from byteatlas.io.local import ICECHUNK
from byteatlas.values import dataclass, field

IcechunkMode: TypeAlias = Literal["create", "append", "replace"]
MODES: tuple[str, ...] = get_args(IcechunkMode)
VERSIONS = ("branch", "tag", "snapshot")
MOST_REFERENCES = 50_000_000
"""References of one commit. Icechunk keeps all of a commit's in memory."""
MANIFEST_SIZE = 1 << 17
"""References of one of Icechunk's manifest files: what has to be written again when one of them changes."""


@dataclass(frozen=True, slots=True)
class IcechunkOptions:
    """How a repository is written.

    >>> IcechunkOptions(mode="append", branch="trial", message="June").branch
    'trial'

    Attributes:
        mode: ``create`` a branch that holds nothing yet; ``append`` to what it holds: new arrays and groups, and new
            chunks of arrays that were read from it; ``replace`` what it holds, which stays as an older snapshot.
        branch: commit to this branch. One that is not there begins empty.
        message: of the commit.
        containers: for each URL prefix that sources lie under, icechunk's store configuration for it. Local folders,
            S3, GCS and web servers need none: these are made from what is known of their access.
        credentials: for each of these prefixes, icechunk's credentials; None = anonymous or the environment's.
        relative: write locations relative to the containers, whose prefixes can be changed later (icechunk 2).
        checksums: record the etag or modification time of each source that is known, so that a source that was changed
            is an error at reading. Icechunk keeps whole seconds of times.
        most_references: of one commit; what has more is written in several.
    """

    mode: IcechunkMode = "create"
    branch: str = "main"
    message: str = "virtual references by byteatlas"
    containers: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, Any] = field(default_factory=dict)
    relative: bool = False
    checksums: bool = True
    most_references: int = MOST_REFERENCES

    def __post_init__(self) -> None:
        check_mode(self.mode)
        if self.most_references < 1:
            raise BadRequest(f"most_references is {self.most_references}; 1 or more were expected")


def check_mode(mode: str) -> IcechunkMode:
    """A mode by its name. Raises `BadRequest` for any other, with the one that was meant."""
    match mode:
        case "create" | "append" | "replace":
            return mode
    close = get_close_matches(str(mode), MODES, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise BadRequest(f"no mode {mode!r}; {hint}known: {', '.join(MODES)}")


@dataclass(frozen=True, slots=True)
class RepositoryPlace:
    """Which version of which repository: at most one of branch, tag and snapshot."""

    url: str
    branch: str | None = None
    tag: str | None = None
    snapshot: str | None = None

    def __post_init__(self) -> None:
        if sum(v is not None for v in (self.branch, self.tag, self.snapshot)) > 1:
            raise BadRequest(f"{self.url}: give one of branch, tag and snapshot")


def place_of_url(url: str) -> RepositoryPlace:
    """What ``icechunk:URL`` names; ``?branch=``, ``?tag=`` or ``?snapshot=`` at its end says which version.

    >>> place_of_url("icechunk:s3://bucket/all?tag=v1")
    RepositoryPlace(url='s3://bucket/all', branch=None, tag='v1', snapshot=None)
    """
    inner = url.removeprefix(ICECHUNK).rstrip("/")
    head, mark, query = inner.rpartition("?")
    name, equals, value = query.partition("=")
    if mark and equals and name in VERSIONS and value:
        match name:
            case "branch":
                return RepositoryPlace(head, branch=value)
            case "tag":
                return RepositoryPlace(head, tag=value)
            case _:
                return RepositoryPlace(head, snapshot=value)
    return RepositoryPlace(inner)


def at_version(url: str, branch: str | None, tag: str | None, snapshot: str | None) -> str:
    """A repository's URL with the version that is meant. Raises `BadRequest` for more than one."""
    given = {n: v for n, v in zip(VERSIONS, (branch, tag, snapshot), strict=True) if v is not None}
    if not given:
        return url
    if len(given) > 1:
        raise BadRequest(f"{url}: give one of branch, tag and snapshot")
    name, value = next(iter(given.items()))
    plain = url if url.startswith(ICECHUNK) else ICECHUNK + url
    return f"{plain}?{name}={value}"
