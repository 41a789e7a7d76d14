"""What the commands share: options, progress, numbers for people, JSON for machines."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from byteatlas.pages.numbers import count_text as count_text
from byteatlas.pages.numbers import size_text as size_text
from byteatlas.progress import OnProgress
from byteatlas.types import JSON

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from byteatlas.io.access import Access
    from byteatlas.io.traffic.counters import Counters

F = TypeVar("F", bound=Callable[..., Any])
STATS = "show stats"
"""Whether ``--stats`` was given, in click's context."""


def json_option(command: F) -> F:
    """``--json``: one JSON document on standard output and nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


CREDENTIALS = (
    "Who is asked for credentials for the URLs below a prefix: environment, profile=NAME, anonymous, requester_pays, "
    "earthdata, or the name of a plugin."
)


def _remembered(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Options that `_access` puts together."""
    ctx.meta[f"access.{param.name}"] = value


def storage_option(command: F) -> F:
    """``--storage-options``, as JSON or as the name of a JSON file, ``--credentials`` and ``--backend``."""
    backends = click.Choice(["obstore", "fsspec"])
    hidden: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _remembered}
    command = click.option("--backend", type=backends, help="What opens s3, gs and az URLs.", **hidden)(command)
    command = click.option("--credentials", multiple=True, metavar="PREFIX=NAME", help=CREDENTIALS, **hidden)(command)
    command = click.option(
        "--stats",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_stats,
        help="Afterwards, tell on standard error what was asked of servers: requests, bytes, seconds waited.",
    )(command)
    return click.option(
        "--storage-options",
        "access",
        callback=_access,
        metavar="JSON|FILE",
        help="Storage options as JSON, or a file that holds them; keys with :// are options for URLs below them.",
    )(command)


def absent_parts_option(command: F) -> F:
    """``--absent-parts``: what part files of a Parquet map mean that are not there."""
    return click.option(
        "--absent-parts",
        type=click.Choice(["raise", "missing"]),
        default="raise",
        show_default=True,
        help="Part files of a Parquet map that are not there: an error, or chunks that were never written.",
    )(command)


def _access(ctx: click.Context, param: click.Parameter, value: str | None) -> Access:
    from byteatlas.io.access import DEFAULT, Access

    backend, given = ctx.meta.get("access.backend"), ctx.meta.get("access.credentials") or ()
    pairs = [entry.partition("=") for entry in given]
    if not all(mark and "://" in prefix for prefix, mark, _ in pairs):
        raise click.BadParameter("--credentials is PREFIX=NAME: s3://bucket/=anonymous")
    credentials = {prefix: name for prefix, _, name in pairs}
    if value is None:
        found = Access(backend=backend, credentials=credentials) if backend or credentials else None
        return _counted(ctx, found or Access()) if ctx.meta.get(STATS) else found or DEFAULT
    try:
        text = value if value.lstrip().startswith("{") else _text_of(value)
        parsed = json.loads(text)
    except (OSError, ValueError) as error:
        raise click.BadParameter(str(error)) from error
    if not isinstance(parsed, dict):
        raise click.BadParameter("not a JSON object")
    found = Access(parsed, backend=backend, credentials=credentials)
    return _counted(ctx, found) if ctx.meta.get(STATS) else found


def _stats(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[STATS] = value


def _counted(ctx: click.Context, access: Access) -> Access:
    """The same, whose counters are shown when the command ends, well or not."""
    ctx.call_on_close(lambda: click.echo(traffic_text(access.counters), err=True))
    return access


def traffic_text(counted: Counters) -> str:
    """Counters for people, in one line."""
    if not counted.requests:
        return "network: no requests"
    retries = f", {count_text(counted.retries, 'retry', 'retries')}" if counted.retries else ""
    return (
        f"network: {count_text(counted.requests, 'request')} in {count_text(counted.rounds, 'round')}{retries}; "
        f"{size_text(counted.fetched)} fetched, {size_text(counted.wanted)} wanted; {counted.waited:.2f} s waited"
    )


def _text_of(path: str) -> str:
    from pathlib import Path

    return Path(path).read_text(encoding="utf-8")


def visible(text: str) -> str:
    """Text with its control characters as escapes: names in files may hold commands to the terminal."""
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


_LOOK = "(?:[0-4]|39|49|[349][0-7])"
UNUSUAL = re.compile(rf"(\x1b\[{_LOOK}(?:;{_LOOK})*m)|[^\x20-\x7e\n\t]")
"""Colours and weights, as we set them ourselves; and any character that may not be printable."""


class Harmless:
    """A stream of text that shows control characters as escapes: whatever is printed may hold names from a file."""

    def __init__(self, stream: Any) -> None:
        self.unfiltered = stream

    def write(self, text: str) -> int:
        self.unfiltered.write(UNUSUAL.sub(lambda m: m[0] if m[1] is not None else visible(m[0]), text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


def harmless(stream: Any) -> Any:
    """This stream, so that text which is written to it commands nothing."""
    return stream if isinstance(stream, Harmless) else Harmless(stream)


def print_json(document: JSON) -> None:
    """Print a document on standard output."""
    text = json.dumps(document, indent=2, default=str, ensure_ascii=False)
    click.echo("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def console(*, stderr: bool = False, unfiltered: bool = False) -> Console:
    """A rich console; plain text when the stream is no terminal, and then without line wrapping.

    ``unfiltered``: it moves the cursor; what it shows has to be `visible` already.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 400
    file: Any = getattr(stream, "unfiltered", stream) if unfiltered else None
    return Console(stderr=stderr, file=file, width=width, highlight=False, soft_wrap=not stream.isatty())


def table(*heads: str) -> Table:
    """A table without lines; texts that are too wide for the terminal go on in the next line, none is cut."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in heads:
        made.add_column(head, overflow="fold")
    return made


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Iterator[OnProgress]:
    """A progress bar on standard error when that is a terminal; otherwise nothing at all."""
    if quiet or not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich import progress as rich

    columns = (
        rich.TextColumn("[bold]{task.description}"),
        rich.BarColumn(bar_width=24),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("[dim]left"),
        rich.TimeRemainingColumn(),
        rich.TextColumn("[dim]{task.fields[now]}"),
    )
    with rich.Progress(*columns, console=console(stderr=True, unfiltered=True), transient=True) as bar:
        task = bar.add_task(visible(what), total=None, now="")
        yield lambda e: bar.update(task, completed=e.done, total=e.total, now=visible(e.name.rpartition("/")[2]))


class Size(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic from click 8.4 on
    """A number of bytes with an optional unit: ``500``, ``64kB``, ``4MiB``; ``none`` where that means something."""

    name = "size"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    units: Mapping[str, int] = {
        "": 1,
        "b": 1,
        **{k + "b": 1000 ** (i + 1) for i, k in enumerate("kmgt")},
        **{k + "ib": 1024 ** (i + 1) for i, k in enumerate("kmgt")},
    }

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        if isinstance(value, int) or value is None:
            return value
        text = str(value).strip().lower()
        if text == "none":
            return None
        number = text.rstrip("bikmgt ")
        unit = text[len(number) :].strip()
        if not number.isdigit() or unit not in self.units:
            self.fail(f"{value!r} is no size; examples: 500, 64kB, 4MiB", param, ctx)
        if int(number) * self.units[unit] < self.least:
            self.fail(f"{value!r} is too little: {self.least} is the least", param, ctx)
        return int(number) * self.units[unit]
