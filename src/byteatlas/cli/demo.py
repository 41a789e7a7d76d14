"""``byteatlas demo``: the whole way, from files to a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from byteatlas.cli.common import json_option, print_json, progress
from byteatlas.progress import counting


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"))
@click.option("--months", type=click.IntRange(1, 12), default=12, show_default=True, help="Files to make.")
@json_option
def demo(folder: Path, months: int, as_json: bool) -> None:
    """Make a small netCDF-4 archive in FOLDER (default: demo/), then scan, combine, open, check and draw it.

    Needs the extra packages of byteatlas[demo]. Nothing is downloaded; the data are made up.

    \b
    Example:
      byteatlas demo
      byteatlas demo /tmp/ocean --months 3
    """
    from byteatlas.demo.archive import ArchivePlan
    from byteatlas.demo.run import run_demo

    result = run_demo(
        folder,
        (lambda _: None) if as_json else click.echo,
        lambda what, total: _track(what, total, quiet=as_json),
        ArchivePlan(months=months),
    )
    if as_json:
        print_json(asdict(result))


@contextmanager
def _track(what: str, total: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    with progress(what, quiet=quiet) as bar:
        yield counting(bar, what, total)
