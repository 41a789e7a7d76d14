"""Commands that write a map from a map: convert, rename, inline, deinline, consolidate, split, append."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from byteatlas.cli import common
from byteatlas.cli.arguments.inputs import files_from_option, files_of
from byteatlas.cli.map_io import (
    Shards,
    check_out,
    hint_at_parquet,
    load_group,
    load_map,
    make_folder,
    output_options,
    said,
    tell_appended,
    write_map,
)
from byteatlas.io.access import AbsentParts, Access

SIZE = click.IntRange(0, (1 << 63) - 1)
"""Bytes; no chunk is longer."""


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.option(
    "--shards",
    type=click.Choice(["whole", "inner"]),
    default="whole",
    show_default=True,
    help="inner: a reference for each chunk within a shard.",
)
@output_options
@common.absent_parts_option
@common.json_option
@common.storage_option
def convert(
    source: str,
    out: str,
    shards: Shards,
    absent_parts: AbsentParts,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Change the form of a map: JSON (version 0 or 1, compressed or not), Parquet, or an Icechunk repository.

    \b
    Examples:
      byteatlas convert all.json all.parquet
      byteatlas convert all.parquet all.json.zst --templates
      byteatlas convert by-kerchunk.parquet whole.parquet --absent-parts missing
      byteatlas convert sharded.zarr all.json --shards inner
      byteatlas convert all.json icechunk:/data/all --mode replace
    """
    write_map(load_map(source, access, absent_parts, shards), out, choices, access, source)
    said(as_json, out)


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
    from byteatlas.manifest.facts import sources_of
    from byteatlas.manifest.ops.archive import dereference_archives
    from byteatlas.manifest.ops.rename import Rename, rename_sources

    pairs = {}
    for item in prefix:
        old, mark, new = item.partition("=")
        if not mark or not old:
            raise click.BadParameter(f"{item!r} is not OLD=NEW", param_hint="--prefix")
        pairs[old] = new
    node = load_map(source, access)
    if pairs or regex:
        pattern, new = regex or (None, "")
        how = Rename(pairs, pattern, new)
        how.check_used(sources_of(node))
        node = rename_sources(node, how)
    if archives:
        node = dereference_archives(node, access.pool())
    write_map(node, out, choices, access, source)
    said(as_json, out)


@click.command()
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.option("--below", type=SIZE, default=500, show_default=True, help="Chunks shorter than this.")
@click.option("--array", "arrays", multiple=True, metavar="PATH", help="Only these arrays.")
@click.option("--whole-arrays", type=SIZE, default=0, help="Also all of arrays smaller than this.")
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

    chosen = InlineOptions(below, frozenset(path.strip("/") for path in arrays) or None, whole_arrays)
    pool = access.pool()
    write_map(inlined(load_map(source, access), pool, chosen), out, choices, access, source)
    said(as_json, out)


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
    from byteatlas.io.local import absolute
    from byteatlas.manifest.ops.inline import deinline as moved
    from byteatlas.manifest.ops.side_file import side_file as new_side_file

    side = absolute(side_file or out.rstrip("/") + ".bin")
    node = load_map(source, access)
    check_out(out, choices["form"], access)
    with new_side_file(side, node, access, absolute(out)) as sink:
        node = moved(node, sink, side, at_least=at_least)
    write_map(node, out, choices, access, source)
    said(as_json, out, side_file=side)


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
    write_map(load_map(source, access), out, {**choices, "consolidated": True}, access, source)
    said(as_json, out)


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
    from byteatlas.api.reading import reader
    from byteatlas.combining.select.ops import kept_in_map
    from byteatlas.manifest.ops.split import file_names, split_along, split_arrays, split_groups

    if (by is None) == (along is None) or (along is None) != (every is None):
        raise click.UsageError("say how: --by array, --by group, or --along DIM --every N")
    node = load_group(source, access)
    if by is not None:
        found = (split_arrays if by == "array" else split_groups)(node)
        named = file_names(found)
        pieces = [(named[path], piece) for path, piece in found.items()]
    else:
        cut = list(split_along(node, along or "", every or 1, kept_in_map(reader(access))))
        width = len(str(len(cut) - 1))
        pieces = [(f"{along}-{i:0{width}d}", piece) for i, piece in enumerate(cut)]
    make_folder(out)
    suffix = ".parquet" if choices["form"] == "parquet" else ".json"
    names = [f"{out.rstrip('/')}/{name}{suffix}" for name, _ in pieces]
    for target, (_, piece) in zip(names, pieces, strict=True):
        write_map(piece, target, choices, access)
    if as_json:
        common.print_json({"written": names})
    else:
        click.echo("\n".join(f"wrote {name}" for name in names))


@click.command()
@click.argument("target", metavar="MAP")
@click.argument("inputs", nargs=-1, metavar="REF...")
@files_from_option
@click.option("--concat", "-c", required=True, metavar="DIM", help="Dimension along which the files follow.")
@click.option("--replace", "replacing", is_flag=True, help="Files with the same coordinates replace older ones.")
@common.json_option
@common.storage_option
def append(
    target: str,
    inputs: Sequence[str],
    files_from: str | None,
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

    names = [file.url for file in files_of(inputs, files_from, None, access)]
    done = ba.append(target, names, concat, replace=replacing, access=access)
    if as_json:
        common.print_json({"written": target, **asdict(done)})
    else:
        tell_appended(target, done)
    hint_at_parquet(target)
