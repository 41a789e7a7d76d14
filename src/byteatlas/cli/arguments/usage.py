"""What is said of a command line that makes no sense, and what to try when a command failed: one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

import click

from byteatlas import errors

NOT_ONE_OF = re.compile(r"'(.*)' is not one of ")
MOVED = "if it moved: byteatlas check MAP --look-in FOLDER, then byteatlas rename MAP NEW --prefix OLD=NEW"


def is_call_for_help(error: click.ClickException) -> bool:
    """Whether nothing was asked for, and the help is the answer (click 8.2 and later say it so)."""
    return type(error).__name__ == "NoArgsIsHelpError"


def usage_text(error: click.ClickException) -> str:
    """What is wrong, what was probably meant, and where the rest is told."""
    text = _what(error).rstrip(".")
    where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx is not None else "byteatlas"
    return f"{text} ({where} --help)"


def _what(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        known = [name for p in _parameters(error.ctx) for name in (*p.opts, *p.secondary_opts)]
        close = get_close_matches(error.option_name, known, 1)
        return f"no option {error.option_name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
    text = error.format_message()
    found = NOT_ONE_OF.search(text)
    if found is not None and isinstance(error, click.BadParameter) and isinstance(error.param, click.Parameter):
        choices = [str(c) for c in getattr(error.param.type, "choices", ())]
        close = get_close_matches(found[1], choices, 1)
        return text.rstrip(".") + (f"; did you mean {close[0]!r}?" if close else "")
    return text


def _parameters(context: click.Context | None) -> list[click.Option]:
    known = [] if context is None else context.command.get_params(context)
    return [parameter for parameter in known if isinstance(parameter, click.Option)]


def advice(error: errors.ByteatlasError, words: Sequence[str]) -> str:
    """What to try after an error, as an end of its line; empty where the error says all.

    Args:
        words: the command line. A file that it does not name is one that a map leads to.
    """
    if not isinstance(error, errors.FetchFailed) or not error.absent:
        return ""
    named = any(_names(word, error.url) for word in words if not word.startswith("-"))
    return f"; {MOVED}" if not named else ""


def _names(word: str, url: str) -> bool:
    """Whether a word of the command line stands for a file, or for a folder, an archive or a pattern that it is in."""
    from byteatlas.io.local import absolute

    start = re.split(r"[*?\[]", word, maxsplit=1)[0]
    if start != word:
        return url.startswith((start, absolute(start)))
    return any(
        url == name or url.startswith((f"{name}/", f"{name}::")) or url in name
        for name in (word, absolute(word))
        if name
    )


def terminal_width() -> int:
    """Columns of the terminal (COLUMNS, else what the terminal says, else 80)."""
    from byteatlas.cli.overview import terminal_columns

    return terminal_columns()
