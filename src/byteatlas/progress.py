"""How far something has come: one event for all verbs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TypeAlias

from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One step.

    Attributes:
        verb: ``scan``, ``combine``, ``write``, ``copy``, ``verify`` ...
        name: what is worked on: a file, or an array's path.
        done, total: structures read (scan), files (combine and several files at once), arrays (write, verify), bytes of
            this array's decoded values (copy). None as total: nobody knows.

    >>> steps = []
    >>> _ = ba.combine(["jan.nc", "feb.nc"], concat="time", progress=steps.append)
    >>> steps[-1]
    Progress(verb='combine', name='feb.nc', done=2, total=2)
    """

    verb: str
    name: str
    done: int
    total: int | None = None


OnProgress: TypeAlias = Callable[[Progress], None]
"""Called after each step, in the thread that works. What it raises stops the work."""


def counting(progress: OnProgress | None, verb: str, total: int | None) -> Callable[[str], None]:
    """A function to call with the name of each thing that is done; it counts them.

    >>> tell = counting(print, "scan", 2)
    >>> tell("a.nc")
    Progress(verb='scan', name='a.nc', done=1, total=2)
    """
    numbers = count(1)

    def tell(name: str) -> None:
        if progress is not None:
            progress(Progress(verb, name, next(numbers), total))

    return tell
