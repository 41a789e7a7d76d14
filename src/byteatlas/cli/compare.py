"""Commands that look into maps: diff, stats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from byteatlas.cli import common
from byteatlas.cli.map_io import load_map
from byteatlas.errors import BadRequest, unknown
from byteatlas.io.access import Access
from byteatlas.manifest.ops.common import all_arrays


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

    found = list(compare(load_map(first, access), load_map(second, access), chunks=not metadata_only))
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

    node = load_map(source, access)
    if path is None:
        if selection is not None:
            raise click.UsageError("--slice needs --array")
        found = figures(node)
    else:
        arrays = dict(all_arrays(node))
        clean = path.strip("/")
        if clean not in arrays:
            raise unknown("array", clean, arrays)
        child = arrays[clean]
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
    table = common.table("array")
    for name in ("chunks", "missing", "inline", "files", "stored", "decoded", "ratio", "smallest", "largest"):
        table.add_column(name, justify="right", overflow="fold")
    for s in found:
        sizes = [common.size_text(n) if n is not None else "-" for n in (s.stored, s.logical)]
        ratio = f"{s.ratio:.1f}" if s.ratio else "-"
        ends = [common.size_text(n) if n is not None else "-" for n in (s.smallest, s.largest)]
        table.add_row(
            s.path, f"{s.chunks:,}", f"{s.missing:,}", f"{s.inline:,}", f"{s.sources:,}", *sizes, ratio, *ends
        )
    common.console().print(table)
