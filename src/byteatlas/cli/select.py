"""``byteatlas select``: the part of a map between coordinate values; ``--mask`` keeps shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from byteatlas.cli import common
from byteatlas.cli.map_io import load_group, output_options, said, write_map
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.manifest.model import VirtualGroup


@click.command(epilog="FROM..TO includes both ends; either may be left out. Dates without a day mean all of the month.")
@click.argument("source", metavar="X")
@click.argument("out", metavar="Y")
@click.argument("regions", nargs=-1, metavar="[DIM=FROM..TO...]")
@click.option("--cut", is_flag=True, help="Let chunks be read in part where the selection begins inside of them.")
@click.option("--mask", is_flag=True, help="Keep shapes and coordinates; what is outside reads as the fill value.")
@click.option("--keep-cut", is_flag=True, help="With --mask: keep chunks whole that are inside in part.")
@click.option("--fill", type=float, metavar="VALUE", help="With --mask: the fill value of arrays that have none.")
@click.option("--best", is_flag=True, help="Of forecasts: for each valid time the newest run that has it.")
@click.option("--horizon", type=float, metavar="HOURS", help="As --best, of the steps of so many hours or more.")
@output_options
@common.json_option
@common.storage_option
def select(
    source: str,
    out: str,
    regions: Sequence[str],
    cut: bool,
    mask: bool,
    keep_cut: bool,
    fill: float | None,
    best: bool,
    horizon: float | None,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> None:
    """Write the part of a map (or an archive) between coordinate values. Nothing is copied.

    \b
    Examples:
      byteatlas select all.parquet spring.json time=2001-03..2001-05
      byteatlas select all.json europe.json lat=35..70 lon=-10..30 --mask --keep-cut
      byteatlas select runs.parquet best.json --best
      byteatlas select runs.parquet day_ahead.json --horizon 24
    """
    import byteatlas as ba

    if (cut and mask) or ((keep_cut or fill is not None) and not mask):
        raise click.UsageError("--cut goes without --mask, --keep-cut and --fill with it")
    diagonal = best or horizon is not None
    if not regions and not diagonal:
        raise click.UsageError("Missing argument 'DIM=FROM..TO...', or --best or --horizon.")
    if best and horizon is not None:
        raise click.UsageError("--best is --horizon 0: give one of them")
    node: VirtualGroup = load_group(source, access)
    region = dict(region_of(text) for text in regions)
    if diagonal:
        node = ba.by_valid_time(node, at_least=horizon or 0.0, access=access)
    if not region:
        part = node
    elif mask:
        part = ba.mask(node, region, keep_cut=keep_cut, fill=fill, access=access)
    else:
        part = ba.select(node, region, cut=cut, access=access)
    write_map(part, out, choices, access, source)
    said(as_json, out)


def region_of(text: str) -> tuple[str, object]:
    """``DIM=FROM..TO`` or ``DIM=VALUE``, as texts: the coordinate says whether they are numbers, dates or names.

    >>> region_of("lat=30..60"), region_of("time=..2001-03")
    (('lat', slice('30', '60', None)), ('time', slice(None, '2001-03', None)))
    """
    dim, equals, values = text.partition("=")
    if not dim or not equals or not values:
        raise BadRequest(f"{text!r}: expected DIM=FROM..TO or DIM=VALUE")
    low, dots, high = values.partition("..")
    return (dim, slice(low or None, high or None)) if dots else (dim, low)
