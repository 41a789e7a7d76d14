"""``byteatlas verify``: our engine against the format's own library; ``check``: the files against a map's record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from byteatlas.cli.common import console, count_text, json_option, print_json, progress, storage_option
from byteatlas.io.access import Access
from byteatlas.verifying.report import BAD, VerifyReport

if TYPE_CHECKING:
    from byteatlas.manifest.ops.sources import SourceState

COLOURS = {"equal": "green", "refused": "yellow", "unchecked": "yellow"}


@click.command(no_args_is_help=True)
@click.argument("target", metavar="X")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Compare N chunks of each array instead of all.")
@click.option("--no-attributes", is_flag=True, help="Compare values only.")
@click.option("--sources", is_flag=True, help="Only look whether the source files are there, and those indexed.")
@storage_option
@json_option
def verify(
    target: str,
    sample: int | None,
    no_attributes: bool,
    sources: bool,
    access: Access,
    as_json: bool,
) -> int:
    """Compare a map's or archive's arrays with what the format's own library (h5py, netCDF4, tifffile) reads.

    Every value, or a sample of chunks; attributes and dimension names as well. Exit status 1 when something differs,
    cannot be read, or is neither in the map nor refused.

    \b
    Example:
      byteatlas verify data/ocean_2024-01.nc
      byteatlas verify all.parquet --sample 20
      byteatlas verify all.parquet --sources
    """
    if sources:
        return _sources(target, access, as_json)
    import byteatlas as ba
    from byteatlas.verifying import VerifyOptions

    options = VerifyOptions(sample=sample, attributes=not no_attributes)
    with progress("verifying", quiet=as_json) as bar:
        report = ba.verify(target, options=options, access=access, progress=bar)
    if as_json:
        print_json(report.document())
    else:
        _table(report)
    return 0 if report.ok else 1


def _sources(target: str, access: Access, as_json: bool) -> int:
    import byteatlas as ba

    return report(target, ba.check(target, access=access), as_json)


def _table(report: VerifyReport) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("array", overflow="fold")
    table.add_column("")
    table.add_column("values", justify="right")
    table.add_column("files", justify="right")
    table.add_column("", overflow="fold")
    for item in report.items:
        colour = COLOURS.get(item.status, "bold red")
        numbers = (f"{item.values:,}", str(item.files)) if item.files else ("", "")
        table.add_row(Text(item.path or "/"), Text(item.status, style=colour), *numbers, Text(item.detail, style="dim"))
    out = console()
    out.print(table)
    bad = sum(item.status in BAD for item in report.items)
    verdict = "[green]all equal[/]" if report.ok and report.counts.get("equal") else "[yellow]nothing is wrong[/]"
    if bad:
        verdict = f"[bold red]{count_text(bad, 'array')} wrong[/]"
    words = ", ".join(f"{n} {status}" for status, n in report.counts.items())
    out.print(f"{report.target}: {verdict} ({words or 'no arrays'}; {report.values:,} values compared)")


@click.command(no_args_is_help=True)
@click.argument("target", metavar="MAP")
@click.option(
    "--look-in", multiple=True, metavar="FOLDER", help="Look there too for files that moved; may be repeated."
)
@storage_option
@json_option
def check(target: str, look_in: tuple[str, ...], access: Access, as_json: bool) -> int:
    """Tell which files of a map changed, moved or vanished since they were indexed. No data are read.

    Exit status 1 when there are such files.

    \b
    Example:
      byteatlas check all.parquet
      byteatlas check all.json --look-in /archive/2024
    """
    import byteatlas as ba

    return report(target, ba.check(target, look_in=look_in, access=access), as_json)


def report(target: str, states: Sequence[SourceState], as_json: bool) -> int:
    """Print what became of a map's files; the exit status."""
    bad = [s for s in states if not s.ok]
    if as_json:
        print_json([{"url": s.url, "state": s.state, "detail": s.detail, "moved_to": s.moved_to} for s in states])
        return 1 if bad else 0
    for state in bad:
        click.echo(f"{state.state}: {state.detail}")
    counts = ", ".join(f"{n} {name}" for name, n in Counter(s.state for s in states).items())
    click.echo(f"{target}: {count_text(len(states), 'source')}{f' ({counts})' if counts else ''}")
    if any(s.state == "moved" for s in bad):
        click.echo("hint: byteatlas rename MAP --prefix OLD=NEW gives a map other places", err=True)
    return 1 if bad else 0
