"""Maps in and out: what the commands that read or write one have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import click

from byteatlas.cli import common
from byteatlas.errors import BadRequest, ByteatlasError, Conflict, FetchFailed
from byteatlas.io.access import AbsentParts, Access
from byteatlas.io.local import ICECHUNK
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import Format, MapWriteOptions
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.combining.append import Appended
    from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions

Shards: TypeAlias = Literal["whole", "inner"]
F = TypeVar("F", bound=Callable[..., Any])


OVERWRITE = click.option("--overwrite", is_flag=True, help="Replace a map of other files. What is no map is kept.")
KEEP_QUERIES = click.option(
    "--keep-queries", is_flag=True, help="Also write passwords and signatures that URLs hold: whoever has OUT has them."
)


MODE = click.option(
    "--mode", metavar="MODE", help="Icechunk: create a branch that is empty (the default), append to it, or replace it."
)


def output_options(command: F) -> F:
    """How a map is written: what all commands that write one have in common."""
    options = [
        click.option("--format", "form", type=click.Choice(get_args(Format)), help="Default: by OUT's suffix."),
        click.option("--relative", is_flag=True, help="Write source URLs relative to the map's folder."),
        KEEP_QUERIES,
        click.option("--templates", is_flag=True, help="JSON: shorten with templates and generated references."),
        click.option(
            "--zarr-format",
            type=click.Choice(["2", "3"]),
            help="JSON: 2 shows kerchunk's engine and GDAL what version 2 can say; 3 is version 3 throughout.",
        ),
        click.option("--record-size", type=click.IntRange(1), default=100_000, show_default=True, help="Parquet rows."),
        OVERWRITE,
        MODE,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def write_map(
    node: VirtualNode, out: str, choices: Mapping[str, Any], access: Access, source: str | None = None
) -> None:
    """Write what a command made of the map ``source``, which may be replaced by it."""
    from byteatlas.io.local import absolute
    from byteatlas.manifest.references import write_references

    if not choices["overwrite"] and (source is None or absolute(source) != absolute(out)):
        check_subject(node, out, choices.get("form"), access)
    names = ("relative", "keep_queries", "templates", "record_size", "consolidated")
    more = {k: choices[k] for k in names if k in choices}
    if (version := choices.get("zarr_format")) is not None:
        more["zarr_format"] = int(version)
    chosen = repository_options(out, choices.get("form"), choices.get("mode"))
    write_references(node, out, choices.get("form"), options=MapWriteOptions(**more), access=access, icechunk=chosen)


def repository_options(out: str, form: Format | None, mode: str | None) -> IcechunkOptions | None:
    """How an Icechunk repository is written; None for maps. Raises `BadRequest` for a mode that is none."""
    if mode is None:
        return None
    from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions, check_mode

    chosen = IcechunkOptions(mode=check_mode(mode))
    if not out.startswith(ICECHUNK) and form != "icechunk":
        raise BadRequest("--mode is for Icechunk repositories (icechunk:PATH)")
    return chosen


def load_map(url: str, access: Access, absent_parts: AbsentParts = "raise", shards: Shards = "whole") -> VirtualNode:
    import byteatlas as ba

    return ba.load(url, access=access, absent_parts=absent_parts, shards=shards)


def load_group(url: str, access: Access) -> VirtualGroup:
    node = load_map(url, access)
    if isinstance(node, VirtualArray):
        raise BadRequest(f"{url} is a single array; a group was expected")
    return node


def said(as_json: bool, out: str, **facts: JSON) -> None:
    if as_json:
        common.print_json({"written": out, **facts})
    else:
        click.echo(f"wrote {out}" + "".join(f", {k} {v}" for k, v in facts.items()))


LARGE_TEXT = 64 << 20
"""Bytes of a JSON map, of about a million references, from which on adding to it takes long."""


def hint_at_parquet(target: str) -> None:
    """Say what would make the next append fast, where a large JSON map was written anew as a whole."""
    from pathlib import Path

    from byteatlas.io.local import local_path

    path = local_path(target)
    if path is None or not (file := Path(path)).is_file() or (size := file.stat().st_size) < LARGE_TEXT:
        return
    other = f"{target.removesuffix('.json')}.parquet"
    click.echo(
        f"{target} is one JSON text of {common.size_text(size)}: every append reads and writes all of it. "
        f"Of a Parquet map only the part files that change are written: byteatlas convert {target} {other}",
        err=True,
    )


def tell_appended(out: str, done: Appended) -> None:
    """Say how many files were added to a map, and how many it had."""
    text = f"{out}: {common.count_text(len(done.added), 'file')} added"
    text += f", {len(done.replaced):,} replaced" if done.replaced else ""
    text += f", {len(done.skipped):,} were there already" if done.skipped else ""
    click.echo(text if done.added or done.replaced else f"{text}; the map is as it was")


def check_out(out: str, form: Format | None, access: Access) -> Format:
    """The form of a map to be written; errors about its name, and what is there, before any work is done."""
    from byteatlas.io.local import absolute
    from byteatlas.manifest.targets import check_there, format_for

    chosen = format_for(out, form)
    url = absolute(place_of_name(out)).rstrip("/")
    check_there(url, chosen, access)
    return chosen


def place_of_name(out: str) -> str:
    """Where a target lies, without what is said of its form and version."""
    if not out.startswith(ICECHUNK):
        return out
    from byteatlas.manifest.foreign.icechunk.options import place_of_url

    return place_of_url(out).url


def check_subject(node: VirtualNode, out: str, form: Format | None, access: Access) -> None:
    """Raise `Conflict` when a map would take the place of one that has nothing to do with it."""
    from byteatlas.io.local import absolute, local_path, status
    from byteatlas.manifest.targets import is_of_others, refers_to_same

    if check_out(out, form, access) == "icechunk":  # keeps what it had as an older snapshot
        return
    url = absolute(out).rstrip("/")
    if (local_path(url) is not None and status(url) is None) or refers_to_same(node, url):
        return  # what a scan finds mostly, told without the modules that read maps
    there = existing_map(out, access)
    if there is not None and is_of_others(node, there):
        raise Conflict([f"{out} is a map of other files (--overwrite replaces it)"], "write")


def existing_map(out: str, access: Access) -> VirtualNode | None:
    """The map under a name, where there is one. Raises `Conflict` when it cannot be read."""
    from byteatlas.manifest.references import read_references

    try:
        return read_references(out, access=access)
    except FetchFailed as error:
        if error.absent:
            return None
        raise
    except ByteatlasError as error:
        if is_empty(out):
            return None
        raise Conflict([f"{out} is there and cannot be read as a map ({error}); --overwrite replaces it"]) from error


def is_empty(out: str) -> bool:
    from pathlib import Path

    from byteatlas.io.local import local_path

    path = local_path(out)
    return path is not None and Path(path).is_file() and not Path(path).stat().st_size


def make_folder(out: str) -> None:
    """Make a folder for maps, where it is one of this machine and not there yet."""
    from pathlib import Path

    from byteatlas.io.local import local_path

    path = local_path(out)
    if path is None:
        return
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise Conflict([f"{out} is a file; a folder was expected"], "write") from error
    except (OSError, ValueError) as error:
        raise FetchFailed(out, f"no folder can be made: {getattr(error, 'strerror', None) or error}") from error
