"""Rows of a benchmark and how they are printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One peer's best time for one job; ``base`` is that of ``byteatlas``; ``per``: things that the time is for.

    ``cpu``: processor seconds of this process; on a busy machine they say more than the clock.
    """

    job: str
    who: str
    seconds: float
    base: float
    nbytes: int = 0
    per: int = 0
    cpu: float = 0.0

    @property
    def ratio(self) -> float:
        """How many times slower than byteatlas."""
        return self.seconds / self.base


def interleaved(
    job: str, timed: Mapping[str, Callable[[], Any]], rounds: int, nbytes: int = 0, per: int = 0
) -> list[Row]:
    """Run everybody in turn, several rounds; the best of each. The first entry is the one compared with."""
    best = dict.fromkeys(timed, float("inf"))
    busy = dict.fromkeys(timed, float("inf"))
    for _ in range(rounds):
        for who, call in timed.items():
            start, begun = time.perf_counter(), time.process_time()
            call()
            best[who] = min(best[who], time.perf_counter() - start)
            busy[who] = min(busy[who], time.process_time() - begun)
    base = next(iter(best.values()))
    return [Row(job, who, seconds, base, nbytes, per, busy[who]) for who, seconds in best.items()]


def show(rows: Sequence[Row]) -> str:
    """A table per job."""
    lines: list[str] = []
    job = ""
    for row in rows:
        if row.job != job:
            job = row.job
            lines += ["", job]
        rate = f"{row.nbytes / row.seconds / 1e6:9.0f} MB/s" if row.nbytes else ""
        each = f"{row.seconds / row.per * 1e6:9.2f} us each" if row.per else ""
        busy = f"{row.cpu:9.4f} cpu s" if row.cpu else ""
        lines.append(f"  {row.who:34} {row.seconds:9.4f} s {row.ratio:7.2f} x {busy} {rate} {each}")
    return "\n".join(lines)


def write_markdown(page: Path, job: str, rows: Sequence[Row]) -> None:
    """Put a job's tables between its marks in a page, or at the end of the page when it has none yet."""
    begin, end = f"<!-- {job} -->", f"<!-- end of {job} -->"
    lines, title = [begin], ""
    for row in rows:
        if row.job != title:
            title = row.job
            lines += ["", f"**{title}**", "", "| | seconds | times ours |", "|---|---:|---:|"]
        lines.append(f"| {row.who} | {row.seconds:.4g} | {row.ratio:.2f} |")
    block = "\n".join([*lines, "", end])
    text = page.read_text(encoding="utf-8") if page.exists() else "# Speed\n"
    if begin in text and end in text:
        text = text[: text.index(begin)] + block + text[text.index(end) + len(end) :]
    else:
        text = f"{text.rstrip()}\n\n{block}\n"
    page.write_text(text, encoding="utf-8")
