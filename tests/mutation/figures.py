"""The tables of docs/status/tests.md: coverage for each package, mutants noticed, `raise`s that never run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.mutation.covering import Covering, missed
from tests.mutation.packages import package_of
from tests.mutation.refusals import Unreached, statements, unreached
from tests.mutation.running import Trial

ROW = re.compile(r"^\| `([\w.]+)` \| (.*) \|$", re.M)
HEAD = "| package | statements | branches | `raise` that run | mutants noticed |\n|---|---|---|---|---|\n"


def coverage_rows(covering: Covering) -> tuple[dict[str, str], list[Unreached]]:
    """The first four columns for each package, and what never ran."""
    sums: dict[str, Counter[str]] = {}
    never: list[Unreached] = []
    for file, all_lines, ran, branches, taken, lines in missed(covering):
        found = statements(covering.tree, file)
        left = [u for line, u in found if line in set(lines)]
        never += left
        row = sums.setdefault(package_of(file), Counter())
        row.update(s=ran, of_s=all_lines, b=taken, of_b=branches, r=len(found) - len(left), of_r=len(found))
    return {p: " | ".join(share(c[k], c[f"of_{k}"]) for k in "sbr") for p, c in sums.items()}, never


def share(part: int, whole: int) -> str:
    """A part of a whole, with both numbers.

    >>> share(3, 4)
    '75.0 % (3/4)'
    """
    return f"{100 * part / whole:.1f} % ({part}/{whole})" if whole else "-"


def noticed(trials: Iterable[Trial]) -> dict[str, str]:
    """The last column for each package that had mutants."""
    by_package: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.counts:
            by_package.setdefault(trial.mutant.package, []).append(trial)
    return {p: share(sum(t.noticed for t in found), len(found)) for p, found in by_package.items()}


def write_page(page: Path, covering: Covering, trials: list[Trial]) -> list[Unreached]:
    """Put new figures into the page; packages without new mutants keep their last column. Gives what is not listed."""
    text = page.read_text(encoding="utf-8")
    old = {m.group(1): m.group(2).rpartition(" | ")[2] for m in ROW.finditer(text)}
    rows, never = coverage_rows(covering)
    last = old | noticed(trials)
    table = "".join(f"| `{p}` | {rows[p]} | {last.get(p, '-')} |\n" for p in sorted(rows))
    begin, end = text.index(HEAD), text.index("\n\n", text.index(HEAD))
    listed = set(unreached(text))
    page.write_text(text[:begin] + HEAD + table.rstrip("\n") + text[end:], encoding="utf-8")
    return [u for u in never if u not in listed]
