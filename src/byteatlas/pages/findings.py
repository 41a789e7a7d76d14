"""What a plan of combining and a verification say, as lines of a page."""

from __future__ import annotations

from collections import Counter

from byteatlas.combining.model import LEVELS, DimensionPlan, Finding, Plan
from byteatlas.meta.text import shape_text
from byteatlas.pages.dates import time_text
from byteatlas.pages.numbers import count_text
from byteatlas.values import dataclass
from byteatlas.verifying.report import BAD, VerifyReport

MOST_FILES = 20
"""Files of a finding, and runs of coordinate values, that are named."""
MOST_FINDINGS = 200


@dataclass(frozen=True, slots=True)
class FindingLine:
    """One difference between files."""

    level: str
    code: str
    variable: str
    detail: str
    files: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class PlanLines:
    """A plan as text: ``dimensions`` and ``variables`` are rows of tables."""

    ok: bool
    verdict: str
    dimensions: tuple[tuple[str, ...], ...]
    variables: tuple[tuple[str, ...], ...]
    findings: tuple[FindingLine, ...]
    more: int
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifyLine:
    """What became of one array."""

    path: str
    status: str
    bad: bool
    values: str
    detail: str


def plan_numbers(plan: Plan) -> list[tuple[str, str]]:
    """The numbers at the top of a plan's page."""
    counts = Counter[str](finding.level for finding in plan.findings)
    found = [(f"{len(plan.inputs):,}", "file" if len(plan.inputs) == 1 else "files")]
    found.append((f"{len(plan.variables):,}", "variable" if len(plan.variables) == 1 else "variables"))
    words = {
        "conflict": ("conflict", "conflicts"),
        "reconciled": ("reconciled", "reconciled"),
        "note": ("note", "notes"),
    }
    return found + [(f"{n:,}", words[level][n != 1]) for level in LEVELS if (n := counts[level])]


def plan_lines(plan: Plan) -> PlanLines:
    """All of a plan, conflicts first."""
    findings = sorted(plan.findings, key=lambda finding: LEVELS.index(finding.level))
    n = len(plan.conflicts)
    return PlanLines(
        ok=plan.ok,
        verdict="They can be combined." if plan.ok else f"They cannot be combined: {count_text(n, 'conflict')}.",
        dimensions=tuple(_dimension(d) for d in plan.dimensions),
        variables=tuple(
            (
                v.path,
                v.action,
                f"{v.dtype} {shape_text(v.shape, v.dims)}",
                v.chunks,
                f"{v.references:,}",
            )
            for v in plan.variables
        ),
        findings=tuple(map(_finding, findings[:MOST_FINDINGS])),
        more=max(0, len(findings) - MOST_FINDINGS),
        dropped=(*plan.dropped_files, *plan.dropped_variables),
    )


def _dimension(d: DimensionPlan) -> tuple[str, ...]:
    if not d.blocks:
        return d.name, f"{d.length:,}", d.direction, "", d.source
    values = d.blocks[0].first, d.blocks[-1].last
    ends = " to ".join(time_text(value, d.units, d.calendar) for value in values)
    units = (
        f" {d.units}" if d.units and ends == f"{values[0]} to {values[1]}" else ""
    )  # no dates: they need their units
    return d.name, f"{d.length:,}", d.direction, ends + units, d.source


def _finding(f: Finding) -> FindingLine:
    return FindingLine(
        f.level, f.code, f.variable or "", f.detail, f.files[:MOST_FILES], max(0, len(f.files) - MOST_FILES)
    )


def verify_lines(report: VerifyReport) -> list[VerifyLine]:
    """All arrays, those with something wrong first."""
    lines = [
        VerifyLine(i.path or "/", i.status, i.status in BAD, f"{i.values:,}" if i.values else "", i.detail)
        for i in report.items
    ]
    return sorted(lines, key=lambda line: not line.bad)
