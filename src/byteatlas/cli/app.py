"""The command table, and what the shell sees of errors: one line and an exit status that means something."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import click

from byteatlas import __version__, errors
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A command that is imported when it is first needed: ``module:attribute`` and its line in the overview."""

    target: str
    line: str

    def load(self) -> click.Command:
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


COMMANDS: Mapping[str, Entry] = {
    "scan": Entry("byteatlas.cli.scan:scan", "Index archive files: write a reference map for each."),
    "combine": Entry("byteatlas.cli.combine:combine", "Combine maps or archives into one map; show what differs."),
    "info": Entry("byteatlas.cli.info:info", "Show a map, an archive or a Zarr store as a tree."),
    "verify": Entry("byteatlas.cli.verify:verify", "Compare every value with the format's own library."),
    "copy": Entry("byteatlas.cli.copy:copy", "Copy values into a real Zarr store, in new chunks if asked to."),
    "model": Entry("byteatlas.cli.model:model", "Structure without data: show, create, validate, compare."),
    "convert": Entry("byteatlas.cli.maps:convert", "Change the form of a map: JSON, Parquet."),
    "rename": Entry("byteatlas.cli.maps:rename", "Write a map with other source URLs."),
    "inline": Entry("byteatlas.cli.maps:inline", "Copy small chunks into a map."),
    "deinline": Entry("byteatlas.cli.maps:deinline", "Move inline data into a file beside the map."),
    "consolidate": Entry("byteatlas.cli.maps:consolidate", "Put all metadata under one key as well."),
    "select": Entry("byteatlas.cli.select:select", "Write the part of a map between coordinate values."),
    "split": Entry("byteatlas.cli.maps:split", "Write one map as several."),
    "append": Entry("byteatlas.cli.maps:append", "Add maps or archives to a map."),
    "diff": Entry("byteatlas.cli.maps:diff", "Compare two maps."),
    "stats": Entry("byteatlas.cli.maps:stats", "Count chunks and bytes; what a slice would cost."),
    "demo": Entry("byteatlas.cli.demo:demo", "Make a small archive, index, combine, check and draw it."),
}

STATUS: tuple[tuple[type[errors.ByteatlasError], int], ...] = (
    (errors.BadRequest, 2),
    (errors.MissingExtra, 2),
    (errors.CorruptFile, 3),
    (errors.CorruptChunk, 3),
    (errors.InvalidMetadata, 3),
    (errors.Unsupported, 3),
    (errors.SourceChanged, 3),
    (errors.NotFound, 4),
    (errors.FetchFailed, 4),
    (errors.Forbidden, 4),
    (errors.Conflict, 5),
)
"""Exit status by error. 1 is kept for checks that ran and found something wrong."""


class LazyGroup(click.Group):
    """A group whose commands live in a table of `Entry`."""

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return self.table[name].load() if name in self.table else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}; commands: {', '.join(self.table)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.line) for name, entry in self.table.items()])


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 done, 1 a check found something wrong, 2 usage, 3 unreadable or unsupported input, "
    "4 not found or not reachable, 5 files that cannot be combined.",
)
@click.version_option(__version__, prog_name="byteatlas")
def cli() -> None:
    """Index HDF5, netCDF and TIFF archives into virtual Zarr; combine them; read them right.

    \b
    Example:
      byteatlas scan data/*.nc -o maps/
      byteatlas combine maps/*.json -o all.parquet --concat time
      byteatlas info all.parquet
    """


def status_of(error: errors.ByteatlasError) -> int:
    """The exit status for an error."""
    return next((code for kind, code in STATUS if isinstance(error, kind)), 3)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            result = cli.main(None if arguments is None else list(arguments), "byteatlas", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except errors.ByteatlasError as error:
        return _complain(str(error), status_of(error))
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output went away (``| head``): not an error, but Python would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def main() -> None:
    """Entry point of the ``byteatlas`` command."""
    sys.exit(run())


def _complain(text: str, status: int) -> int:
    one_line = " ".join(text.split())
    click.echo(f"{click.style('error:', fg='red', bold=True)} {one_line}", err=True)
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"{click.style('warning:', fg='yellow', bold=True)} {' '.join(str(message).split())}", err=True)
