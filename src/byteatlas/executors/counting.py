"""What workers in other processes fetched, brought home into the counters of the caller's `Access`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic

from byteatlas.executors.results import Failure, T, attempt
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from byteatlas.io.traffic.counters import Counters
    from byteatlas.io.traffic.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """What became of one file, and what was fetched for it in another process (None: here, where it was counted)."""

    outcome: T | Failure
    counters: Counters | None = None


def attempt_counted(function: Callable[[str], T], name: str) -> Attempted[T]:
    """`attempt`, for work that may be done in another process."""
    outcome = attempt(function, name)
    traffic = _traffic_of(function)
    return Attempted(outcome, traffic.tally.take() if traffic is not None and traffic.away else None)


def attempt_each(function: Callable[[str], T], names: Sequence[str]) -> list[Attempted[T]]:
    """`attempt_counted` for several files, which travel as one message."""
    return [attempt_counted(function, name) for name in names]


def brought_home(function: Callable[[str], T], attempted: Attempted[T]) -> T | Failure:
    """The outcome; what was fetched for it counts here."""
    traffic = _traffic_of(function)
    if traffic is not None and attempted.counters is not None:
        traffic.tally.add(attempted.counters)
    return attempted.outcome


def _traffic_of(function: Any) -> Traffic | None:
    """The traffic of the `Access` that a piece of work has as its attribute ``access``."""
    found: Traffic | None = getattr(getattr(function, "access", None), "traffic", None)
    return found
