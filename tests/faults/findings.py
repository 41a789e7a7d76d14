"""What the runs of the fault matrix came to, and the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tests.faults.lost_time import Spent

PAGE = Path(__file__).parents[2] / "docs" / "status" / "faults.md"
ENDS = {
    "right": "the right values",
    "error": "an error of ours, in time, that says where",
    "wrong": "other values than the right ones",
    "partial": "right values, but not all of them",
    "raw": "an exception of another library",
    "late": "after its deadline",
    "no place": "an error that does not say where",
    "not tried again": "an error after a fault of a moment, once or twice in a row, that another try mends",
}
"""How a run can end."""
OF_TIME = ("late", "no place", "not tried again")
"""Ends that a machine can lead to that does something else for a while: such a run is made again, if it did."""


@dataclass
class Findings:
    """What all runs came to. ``wrong`` says of each that did not end as it must."""

    runs: int = 0
    faulted: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    slowest: Spent = field(default_factory=Spent)
    lost: float = 0.0
    slowness: float = 1.0
    repeated: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, faulted: int, took: Spent) -> None:
        """One more run."""
        self.runs += 1
        self.faulted += faulted
        self.lost += took.lost
        self.slowest = max(self.slowest, took, key=lambda s: s.judged)

    def once_more(self) -> None:
        """The last run does not count: the machine was busy, and it is made again."""
        self.runs -= 1
        self.repeated += 1

    def add(self, other: Findings) -> None:
        """What other runs came to, too."""
        self.runs += other.runs
        self.faulted += other.faulted
        self.ends += other.ends
        self.errors += other.errors
        self.slowest = max(self.slowest, other.slowest, key=lambda s: s.judged)
        self.lost += other.lost
        self.repeated += other.repeated
        self.wrong += other.wrong

    def __str__(self) -> str:
        ends = ", ".join(f"{name} {self.ends[name]}" for name in ENDS)
        errors = ", ".join(f"{name} {count}" for name, count in self.errors.most_common())
        text = f"{self.runs} runs, {self.faulted} faulted requests; {ends}\nerrors: {errors}"
        times = f"the slowest took {self.slowest}; the machine took {self.lost:.0f} s of all"
        times += f", and {self.repeated} runs were repeated for it"
        return "\n".join([text, times, *self.wrong])


Row: TypeAlias = dict[str, str]
"""A place's line of the page: text under a heading."""
COLUMNS = ("place", "extent", "kinds of faults", "operations", "runs", "faulted requests", *ENDS, "slowest")


def row_of(place: str, kinds: int, operations: int, found: Findings, short: bool) -> Row:
    numbers = (kinds, operations, found.runs, found.faulted, *map(found.ends.get, ENDS))
    cells = (place, "short" if short else "whole", *(f"{n or 0:,}" for n in numbers))
    return dict(zip(COLUMNS, (*cells, f"{found.slowest.judged:.1f} s"), strict=True))


HEAD = """# Under fire

<!-- Written by python -m tests.faults.matrix --write: do not edit. -->

A server answers some requests of an operation wrongly. Operations are scans of each format, combining, opening and
reading maps and Zarr stores, copying, writing and appending; kinds of faults are status codes, broken and stalled
connections, answers of another place, of another file, or of a portal. Faults come once, twice and five times in a row,
from one request on, and at random (a short matrix leaves some of these out). A run has ended with

"""
TAIL = """

and only the first two are allowed. A run is late after three of its calls' deadlines; what the machine gave to other
processes meanwhile (Linux, `schedstat`) is not counted, but ten times as much is late in any case. On a busy machine
the time-outs are longer, as much as a loop that only counts takes longer there; on a quiet one they are 0.1 s without a
byte and 1.5 s for a call.

"""


def page(rows: Iterable[Row]) -> str:
    """The page, from the figures."""
    meanings = "\n".join(f"- **{name}**: {meaning}" for name, meaning in ENDS.items())
    lines = [COLUMNS, ["---"] * len(COLUMNS), *(row.values() for row in rows)]
    return f"{HEAD}{meanings}{TAIL}" + "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def rows_of(text: str) -> list[Row]:
    """The figures of a page."""
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [dict(zip(COLUMNS, cells, strict=True)) for cells in lines[2:]]


def write_row(row: Row) -> None:
    """Put a place's figures into the page, in the place of its former ones."""
    before = rows_of(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else []
    rows = {**{r["place"]: r for r in before}, row["place"]: row}
    PAGE.write_text(page(rows[name] for name in sorted(rows)), encoding="utf-8")
