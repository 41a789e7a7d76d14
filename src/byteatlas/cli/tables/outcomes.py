"""What became of files: a line for each of a few, one line for many; what is wrong is always told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import click

from byteatlas.cli.common import count_text
from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.manifest.model import ReportItem
from byteatlas.types import JSON
from byteatlas.values import dataclass

FEW = 8
"""Files up to which each has a line of its own."""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of one file."""

    source: str
    target: str
    arrays: int = 0
    chunks: int = 0
    refused: tuple[ReportItem, ...] = ()
    error: ByteatlasError | None = None
    resumed: bool = False
    silent: bool = False

    def document(self) -> JSON:
        """For ``--json``."""
        found: dict[str, JSON] = {
            "source": self.source,
            "target": self.target if self.error is None else None,
            "arrays": self.arrays,
            "chunks": self.chunks,
            "refused": [{"path": i.path, "reason": i.reason, "detail": i.detail} for i in self.refused],
        }
        if self.resumed:
            found["resumed"] = True
        if self.error is not None:
            found["error"] = {"type": type(self.error).__name__, "message": str(self.error)}
        return found

    @property
    def unknown(self) -> bool:
        """Whether no scanner knows the file's format."""
        return isinstance(self.error, Unsupported) and self.error.reason == "format"


def tell_all(
    outcomes: Sequence[FileOutcome], passed: Sequence[FileOutcome], output: str, *, verbose: bool = False
) -> None:
    """Print what became of files.

    Args:
        passed: files that were found in folders, of formats that no scanner knows.
        verbose: a line for each, however many there are.
    """
    each = verbose or len(outcomes) <= FEW
    for outcome in outcomes:
        if outcome.error is not None:
            text = " ".join(str(outcome.error).split())
            click.echo(f"{click.style('error:', fg='red', bold=True)} {text}", err=True)
        elif each:
            _tell(outcome)
    if verbose:
        for outcome in passed:
            click.echo(f"{outcome.source}: passed over, no scanner knows its format")
    if not each:
        _refusals([o for o in outcomes if not o.silent])
    if len(outcomes) > FEW or passed:
        click.echo(summary(outcomes, len(passed), output))


def summary(outcomes: Sequence[FileOutcome], passed: int, output: str) -> str:
    """All of it in one line."""
    done = [o for o in outcomes if o.error is None]
    made = [o for o in done if not o.resumed]
    refused, failed = sum(len(o.refused) for o in made), len(outcomes) - len(done)
    words = [f"{count_text(sum(o.arrays for o in made), 'array')}, {count_text(sum(o.chunks for o in made), 'chunk')}"]
    words += [click.style(f"{refused:,} refused", fg="yellow")] if refused else []
    words += [f"{len(done) - len(made):,} were there already"] if len(done) > len(made) else []
    words += [click.style(f"{failed:,} failed", fg="red")] if failed else []
    words += [f"{count_text(passed, 'file')} of no known format passed over"] if passed else []
    return f"{count_text(len(outcomes), 'file')} -> {output}: {', '.join(words)}"


def _refusals(outcomes: Sequence[FileOutcome]) -> None:
    """A line for each reason, with the first dataset that was refused for it."""
    found = [(o.source, item) for o in outcomes for item in o.refused]
    for reason, n in Counter(item.reason for _, item in found).most_common():
        source, item = next((s, i) for s, i in found if i.reason == reason)
        more = f" (and {n - 1:,} more)" if n > 1 else ""
        click.echo(f"refused {reason} x {n:,}: {source}: {item.path}: {item.detail}{more}")


def _tell(outcome: FileOutcome) -> None:
    if outcome.resumed:
        click.echo(f"{outcome.source} -> {outcome.target}: was there already")
        return
    numbers = f"{count_text(outcome.arrays, 'array')}, {count_text(outcome.chunks, 'chunk')}"
    refused = f", {click.style(f'{len(outcome.refused)} refused', fg='yellow')}" if outcome.refused else ""
    click.echo(f"{outcome.source} -> {outcome.target}: {numbers}{refused}")
    for item in () if outcome.silent else outcome.refused:
        click.echo(f"  refused {item.path}: {item.detail} [{item.reason}]")
