"""Seconds that this process wanted to run in, and the machine gave to others.

A deadline is the library's to keep; what a busy machine takes from it is not its fault. Linux counts for every thread
how long it stood in the queue for a processor (``/proc/self/task/*/schedstat``, second number, in nanoseconds). On a
quiet machine that is next to nothing, so that the bar is the same there. Where the system does not tell, it is nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

QUIET = 1.3
"""What a quiet machine's slowness comes to, at the most."""
TASKS = Path("/proc/self/task")


@dataclass
class Spent:
    """What a piece of work took.

    Attributes:
        seconds: by the clock.
        lost: seconds of these in which its threads waited for a processor.
    """

    seconds: float = 0.0
    lost: float = 0.0

    @property
    def judged(self) -> float:
        """What deadlines are held against."""
        return self.seconds - self.lost

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, of which the machine took {self.lost:.1f} s"


@contextmanager
def spent(tasks: Path = TASKS) -> Iterator[Spent]:
    """Measures a block; the result is filled in when it ends, however it ends."""
    found, begin, cpu, queued = Spent(), time.monotonic(), time.process_time(), waited(tasks)
    try:
        yield found
    finally:
        after = waited(tasks)
        found.seconds = time.monotonic() - begin
        idle = max(0.0, found.seconds - (time.process_time() - cpu))
        found.lost = min(lost_between(queued, after), idle)


def slowness(samples: int = 5) -> float:
    """How many times slower than alone a thread gets on here just now: at least 1, and that on a quiet machine."""
    ratios = []
    for _ in range(samples):
        begin, cpu = time.perf_counter(), time.thread_time()
        while time.thread_time() - cpu < 0.005:
            pass
        ratios.append((time.perf_counter() - begin) / (time.thread_time() - cpu))
    found = sorted(ratios)[samples // 2]
    return found if found > QUIET else 1.0


def waited(tasks: Path = TASKS) -> dict[str, float]:
    """The seconds that each thread has stood in the queue so far."""
    found: dict[str, float] = {}
    for task in tasks.iterdir() if tasks.is_dir() else ():
        with suppress(OSError, ValueError, IndexError):  # a thread that ends meanwhile
            found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found


def lost_between(before: dict[str, float], after: dict[str, float]) -> float:
    """Seconds in the queue, of all threads that are there at the end. Those that are gone count as nothing."""
    return sum(seconds - before.get(name, 0.0) for name, seconds in after.items())
