"""Commands on maps: convert, rename, inline, deinline, consolidate, split, append, diff, stats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from byteatlas.cli import common
from byteatlas.errors import BadRequest
from byteatlas.io.access import AbsentParts, Access
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import Format, MapWriteOptions
from byteatlas.types import JSON

F = TypeVar("F", bound=Callable[..., Any])


def output_options(command: F) -> F:
    """How a map is written: what all commands that write one have in common."""
    options = [
        click.option("--format", "form", type=click.Choice(get_args(Format)), help="Default: by OUT's suffix."),
        click.option("--relative", is_flag=True, help="Write source URLs relative to the map's folder."),
        click.option("--templates", is_flag=True, help="JSON: shorten with templates and generated references."),
        click.option("--record-size", type=click.IntRange(1), default=100_000, show_default=True, help="Parquet rows."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _write(node: VirtualNode, out: str, choices: Mapping[str, Any], access: Access) -> None:
    from byteatlas.manifest.references import write_references

    more = {k: choices[k] for k in ("relative", "templates", "record_size", "consolidated") if k in choices}
    write_references(node, out, choices.get("form"), options=MapWriteOptions(**more), access=access)


def _load(url: str, access: Access, absent_parts: AbsentParts = "raise") -> VirtualNode:
    import byteatlas as ba

    return ba.load(url, access=access, absent_parts=absent_parts)


def _group(url: str, access: Access) -> VirtualGroup:
    node = _load(url, access)
    if isinstance(node, VirtualArray):
        raise BadRequest(f"{url} is a single array; a group was expected")
    return node


def _said(as_json: bool, out: str, **facts: JSON) -> None:
    if as_json:
        common.print_json({"written": out, **facts})
    else:
        click.echo(f"wrote {out}" + "".join(f", {k} {v}" for k, v in facts.items()))


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@output_options
@common.absent_parts_option
@common.json_option
@common.storage_option
def convert(
    source: str,
    out: str,
    absent_parts: AbsentParts,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Change the form of a map: JSON (version 0 or 1, compressed or not) and Parquet.

    \b
    Examples:
      byteatlas convert all.json all.parquet
      byteatlas convert all.parquet all.json.zst --templates
      byteatlas convert by-kerchunk.parquet whole.parquet --absent-parts missing
    """
    _write(_load(source, access, absent_parts), out, choices, access)
    _said(as_json, out)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.option("--prefix", multiple=True, metavar="OLD=NEW", help="Replace this prefix of URLs; the longest counts.")
@click.option("--regex", nargs=2, metavar="PATTERN NEW", help=r"Replace what a regular expression finds (\1 works).")
@click.option("--archives", is_flag=True, help="Replace members of zip and tar archives by ranges of the archives.")
@output_options
@common.json_option
@common.storage_option
def rename(
    source: str,
    out: str,
    prefix: Sequence[str],
    regex: tuple[str, str] | None,
    archives: bool,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Write a map with other source URLs: the files moved, or are reached in another way.

    \b
    Examples:
      byteatlas rename a.json b.json --prefix /data/=s3://bucket/data/
      byteatlas rename a.json b.json --relative
      byteatlas rename a.json b.json --archives
    """
    from byteatlas.manifest.ops.archive import dereference_archives
    from byteatlas.manifest.ops.rename import Rename, rename_sources

    pairs = {}
    for item in prefix:
        old, mark, new = item.partition("=")
        if not mark or not old:
            raise click.BadParameter(f"{item!r} is not OLD=NEW", param_hint="--prefix")
        pairs[old] = new
    node = _load(source, access)
    if pairs or regex:
        pattern, new = regex or (None, "")
        node = rename_sources(node, Rename(pairs, pattern, new))
    if archives:
        node = dereference_archives(node, access.pool())
    _write(node, out, choices, access)
    _said(as_json, out)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.option("--below", type=click.IntRange(0), default=500, show_default=True, help="Chunks shorter than this.")
@click.option("--array", "arrays", multiple=True, metavar="PATH", help="Only these arrays.")
@click.option("--whole-arrays", type=click.IntRange(0), default=0, help="Also all of arrays smaller than this.")
@output_options
@common.json_option
@common.storage_option
def inline(
    source: str,
    out: str,
    below: int,
    arrays: Sequence[str],
    whole_arrays: int,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Copy small chunks into the map, so that reading them costs no request.

    \b
    Example:
      byteatlas inline a.json b.json --below 1000 --array time
    """
    from byteatlas.manifest.ops.inline import InlineOptions
    from byteatlas.manifest.ops.inline import inline as inlined

    chosen = InlineOptions(below, frozenset(arrays) or None, whole_arrays)
    pool = access.pool()
    _write(inlined(_load(source, access), pool, chosen), out, choices, access)
    _said(as_json, out)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.option("--side-file", metavar="URL", help="Where the bytes go; default: OUT with .bin behind it.")
@click.option(
    "--at-least", type=click.IntRange(1), default=1, show_default=True, help="Only chunks of this many bytes."
)
@output_options
@common.json_option
@common.storage_option
def deinline(
    source: str,
    out: str,
    side_file: str | None,
    at_least: int,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Move inline data out of a map into a file beside it.

    \b
    Example:
      byteatlas deinline a.json b.parquet --at-least 1000
    """
    from byteatlas.io.output import new_file
    from byteatlas.manifest.ops.inline import deinline as moved
    from byteatlas.manifest.references import absolute

    side = absolute(side_file or out.rstrip("/") + ".bin")
    with new_file(side, access.storage_options) as sink:
        node = moved(_load(source, access), sink, side, at_least=at_least)
    _write(node, out, choices, access)
    _said(as_json, out, side_file=side)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@output_options
@common.json_option
@common.storage_option
def consolidate(source: str, out: str, as_json: bool, access: Access, **choices: Any) -> None:
    """Write a map whose metadata also stand under one key, for readers that look for it there.

    \b
    Example:
      byteatlas consolidate a.json b.json
    """
    _write(_load(source, access), out, {**choices, "consolidated": True}, access)
    _said(as_json, out)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="DIR")
@click.option("--by", type=click.Choice(["array", "group"]), help="One map for each.")
@click.option("--along", metavar="DIM", help="Cut along this dimension ...")
@click.option("--every", type=click.IntRange(1), metavar="N", help="... every N elements (a multiple of the chunks).")
@output_options
@common.json_option
@common.storage_option
def split(
    source: str,
    out: str,
    by: str | None,
    along: str | None,
    every: int | None,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Write one map as several, into a folder.

    \b
    Examples:
      byteatlas split all.json parts/ --by array
      byteatlas split all.json parts/ --along time --every 365 --format parquet
    """
    from byteatlas.manifest.ops.split import split_along, split_arrays, split_groups

    if (by is None) == (along is None) or (along is None) != (every is None):
        raise click.UsageError("say how: --by array, --by group, or --along DIM --every N")
    node = _group(source, access)
    if by is not None:
        found = (split_arrays if by == "array" else split_groups)(node)
        pieces = [(name.replace("/", ".") or "root", piece) for name, piece in found.items()]
    else:
        cut = list(split_along(node, along or "", every or 1))
        width = len(str(len(cut) - 1))
        pieces = [(f"{along}-{i:0{width}d}", piece) for i, piece in enumerate(cut)]
    if "://" not in out:
        Path(out).mkdir(parents=True, exist_ok=True)
    suffix = ".parquet" if choices["form"] == "parquet" else ".json"
    names = [f"{out.rstrip('/')}/{name}{suffix}" for name, _ in pieces]
    for target, (_, piece) in zip(names, pieces, strict=True):
        _write(piece, target, choices, access)
    if as_json:
        common.print_json({"written": names})
    else:
        click.echo("\n".join(f"wrote {name}" for name in names))


@click.command()
@click.argument("target", metavar="MAP")
@click.argument("inputs", nargs=-1, required=True, metavar="REF...")
@click.option("--concat", "-c", required=True, metavar="DIM", help="Dimension along which the files follow.")
@click.option("--replace", "replacing", is_flag=True, help="Files with the same coordinates replace older ones.")
@common.json_option
@common.storage_option
def append(
    target: str,
    inputs: Sequence[str],
    concat: str,
    replacing: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Add maps or archives to a map that exists (the same as ``combine --append``).

    \b
    Example:
      byteatlas append all.parquet new/*.nc --concat time
    """
    import byteatlas as ba

    ba.append(target, list(inputs), concat, replace=replacing, access=access)
    _said(as_json, target)


@click.command(epilog="Exit status: 0 the maps mean the same, 1 they differ.")
@click.argument("first", metavar="X")
@click.argument("second", metavar="Y")
@click.option("--metadata-only", is_flag=True, help="Do not compare where chunks lie.")
@common.json_option
@common.storage_option
def diff(first: str, second: str, metadata_only: bool, as_json: bool, access: Access) -> int:
    """Compare two maps: nodes, metadata, and where each chunk's bytes lie.

    \b
    Example:
      byteatlas diff a.json b.parquet
    """
    from byteatlas.manifest.ops.diff import diff as compare

    found = list(compare(_load(first, access), _load(second, access), chunks=not metadata_only))
    if as_json:
        common.print_json([asdict(item) for item in found])
    for item in found if not as_json else ():
        click.echo(
            f"{item.path}: {item.what}" + (f": {item.first} | {item.second}" if item.first or item.second else "")
        )
    return 1 if found else 0


@click.command()
@click.argument("source", metavar="X")
@click.option("--array", "path", metavar="PATH", help="Only this array, with a histogram of its chunk sizes.")
@click.option("--slice", "selection", metavar="A:B,C:D", help="What reading this slice of --array would cost.")
@common.json_option
@common.storage_option
def stats(
    source: str,
    path: str | None,
    selection: str | None,
    as_json: bool,
    access: Access,
) -> None:
    """Count chunks and bytes of a map, and what reading a slice would cost.

    \b
    Examples:
      byteatlas stats all.parquet
      byteatlas stats all.parquet --array air --slice 0:10,:,5
    """
    from byteatlas.manifest.ops.stats import array_stats, cost
    from byteatlas.manifest.ops.stats import stats as figures

    node = _load(source, access)
    if path is None:
        if selection is not None:
            raise click.UsageError("--slice needs --array")
        found = figures(node)
    else:
        child = node[path] if isinstance(node, VirtualGroup) else node
        if not isinstance(child, VirtualArray):
            raise BadRequest(f"{path} is no array")
        found = [array_stats(path, child)]
        if selection is not None:
            _print_cost(asdict(cost(child, parse_slices(selection))), as_json)
            return
    if as_json:
        common.print_json([{**asdict(s), "ratio": s.ratio} for s in found])
        return
    _print_table(found)
    if path is not None:
        for power, count in found[0].histogram.items():
            low, high = common.size_text(2**power), common.size_text(2 ** (power + 1))
            click.echo(f"{low:>9} to {high:>9}: {common.count_text(count, 'chunk')}")


def parse_slices(text: str) -> list[slice]:
    """Slices as NumPy writes them, without steps.

    >>> parse_slices("0:10,:,5")
    [slice(0, 10, None), slice(None, None, None), slice(5, 6, None)]
    """
    found = []
    for part in text.split(","):
        try:
            start, mark, stop = part.strip().partition(":")
            if mark:
                found.append(slice(int(start) if start else None, int(stop) if stop else None))
            else:
                found.append(slice(int(start), int(start) + 1 or None))
        except ValueError as error:
            raise BadRequest(f"{part!r} is not a slice such as 0:10") from error
    return found


def _print_cost(facts: Mapping[str, int], as_json: bool) -> None:
    if as_json:
        common.print_json(dict(facts))
        return
    click.echo(
        f"{common.count_text(facts['chunks'], 'chunk')} ({facts['missing']:,} missing, {facts['inline']:,} inline), "
        f"{common.count_text(facts['requests'], 'request')} to {common.count_text(facts['sources'], 'file')}, "
        f"{common.size_text(facts['stored'])} stored, {common.size_text(facts['fetched'])} fetched"
    )


def _print_table(found: Sequence[Any]) -> None:
    from rich.table import Table

    table = Table("array", box=None)
    for name in ("chunks", "missing", "inline", "files", "stored", "decoded", "ratio", "smallest", "largest"):
        table.add_column(name, justify="right")
    for s in found:
        sizes = [common.size_text(n) if n is not None else "-" for n in (s.stored, s.logical)]
        ratio = f"{s.ratio:.1f}" if s.ratio else "-"
        ends = [common.size_text(n) if n is not None else "-" for n in (s.smallest, s.largest)]
        table.add_row(
            s.path, f"{s.chunks:,}", f"{s.missing:,}", f"{s.inline:,}", f"{s.sources:,}", *sizes, ratio, *ends
        )
    common.console().print(table)


__all__ = ["append", "consolidate", "convert", "deinline", "diff", "inline", "rename", "split", "stats"]
