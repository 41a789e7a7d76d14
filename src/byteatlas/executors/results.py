"""What became of many files: a result or a reason for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from byteatlas.errors import ByteatlasError
from byteatlas.meta.text import cut_short
from byteatlas.values import dataclass, field

T = TypeVar("T")
TellFile: TypeAlias = Callable[[str], None]
"""Called with a file's name after each file, well or not."""

BROKEN = "BrokenProcessPool"
"""The `Failure.kind` of files that were under way when a worker process died."""


class Submits(Protocol):
    """What `concurrent.futures.Executor` and `distributed.Client` have in common."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one file has no result. ``kind`` is the error's class.

    >>> found = ba.scan_many(["lost.nc"], executor="serial")
    >>> found.failures["lost.nc"].kind
    'FetchFailed'
    """

    name: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True, repr=False)
class Results(Generic[T]):
    """Results and failures by name, each in the order of the names.

    >>> found = ba.scan_many(["jan.nc", "feb.nc"], executor="serial")
    >>> found
    <Results: 2 done, 0 failed>
    >>> found.ok
    True
    """

    results: Mapping[str, T] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failures

    def __repr__(self) -> str:
        told = cut_short([f"{f.name}: {f.kind}: {f.message}" for f in self.failures.values()])
        return "\n  ".join([f"<Results: {len(self.results)} done, {len(self.failures)} failed>", *told])


def attempt(function: Callable[[str], T], name: str) -> T | Failure:
    """One file; expected errors as a value, so that they travel between processes whatever their class."""
    try:
        return function(name)
    except (ByteatlasError, OSError, UnicodeError) as error:
        return Failure(name, type(error).__name__, " ".join(str(error).split()))
