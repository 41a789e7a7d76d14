"""The command table, and what the shell sees of errors: one line and an exit status that means something."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import TextIOWrapper
from typing import Any

import click

from byteatlas import __version__, errors
from byteatlas.cli.common import harmless, visible
from byteatlas.cli.overview import COMMANDS, DESCRIPTION, EPILOG, MOST_COLUMNS

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
    (errors.Absent, 4),
    (errors.Conflict, 5),
)
"""Exit status by error. 1 is kept for checks that ran and found something wrong."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed: ``table`` has their places and lines by name."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module, _, attribute = self.table[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table and not args[0].startswith("-"):
            ctx.fail(errors.unknown_text("command", args[0], self.table))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    help=DESCRIPTION,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MOST_COLUMNS},
    epilog=EPILOG,
)
@click.version_option(__version__, prog_name="byteatlas")
def cli() -> None:
    """See `byteatlas.cli.overview`."""


def status_of(error: errors.ByteatlasError) -> int:
    """The exit status for an error."""
    return next((code for kind, code in STATUS if isinstance(error, kind)), 3)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # names of files need not be text
            stream.reconfigure(errors="backslashreplace")
    with redirect_stdout(harmless(sys.stdout)), redirect_stderr(harmless(sys.stderr)):
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            result = cli.main(None if arguments is None else list(arguments), "byteatlas", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except errors.ByteatlasError as error:
        from byteatlas.cli.arguments.usage import advice

        words = sys.argv[1:] if arguments is None else arguments
        return _complain(f"{error}{advice(error, words)}", status_of(error))
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _misused(error)
    except SystemExit:  # click's way to end when the reader of our output went away
        return _unread()
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", 130)
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), 4)


def _unread() -> int:
    """The reader of our output went away (``| head``): not an error, but Python would complain when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _misused(error: click.ClickException) -> int:
    """Tell of a command line that makes no sense in one line; a command without arguments shows its help."""
    from byteatlas.cli.arguments.usage import is_call_for_help, usage_text

    if is_call_for_help(error):
        error.show()
        return error.exit_code
    return _complain(usage_text(error), error.exit_code)


def _complain(text: str, status: int) -> int:
    one_line = visible(" ".join(text.split()))
    click.echo(f"{click.style('error:', fg='red', bold=True)} {one_line}", err=True)
    return status


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"{click.style('warning:', fg='yellow', bold=True)} {visible(' '.join(str(message).split()))}", err=True)
