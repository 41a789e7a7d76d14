"""``byteatlas check``: are the files that a map leads to still those that were indexed?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from byteatlas.cli.common import count_text, json_option, print_json, storage_option
from byteatlas.io.access import Access

if TYPE_CHECKING:
    from byteatlas.manifest.ops.sources import SourceState


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
