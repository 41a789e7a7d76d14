"""``byteatlas stac``: a STAC Item of a map, an archive or a store."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from byteatlas.cli.common import json_option, storage_option
from byteatlas.cli.map_io import said
from byteatlas.errors import Conflict, InvalidMetadata
from byteatlas.io.access import Access

MOST_BYTES = 64 << 20
"""Of an item that is there."""


@click.command(no_args_is_help=True)
@click.argument("target", metavar="MAP")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write it to this file; default: standard output."
)
@click.option("--href", metavar="URL", help="Where others find the map; default: where it is.")
@click.option("--id", "name", help="Of the item; default: the map's name.")
@click.option("--bbox", type=float, nargs=4, metavar="W S E N", help="In degrees; default: from coordinates.")
@click.option("--start", metavar="TIME", help="Such as 2024-01-31T00:00:00Z; default: from time coordinates.")
@click.option("--end", metavar="TIME", help="The same; default: from time coordinates, or the start.")
@click.option("--sources", is_flag=True, help="The files that the map leads to are assets, too.")
@storage_option
@json_option
def stac(
    target: str,
    output: str | None,
    href: str | None,
    name: str | None,
    bbox: tuple[float, float, float, float] | None,
    start: str | None,
    end: str | None,
    sources: bool,
    access: Access,
    as_json: bool,
) -> None:
    """Describe a map, an archive or a Zarr store as a STAC Item, with its data cube and its grid.

    Coordinates are read, other values are not.

    \b
    Example:
      byteatlas stac all.parquet -o all.stac.json --href s3://bucket/all.parquet
      byteatlas stac data/ocean.nc --sources
    """
    from byteatlas.stac import StacOptions, stac_item

    if output is not None:
        check_no_other(output)
    options = StacOptions(id=name, bbox=bbox, start=start, end=end, sources=sources)
    text = json.dumps(stac_item(target, href=href, options=options, access=access), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
    else:
        from byteatlas.io.output import new_file

        with new_file(output) as sink:
            sink.write(text.encode() + b"\n")
        said(as_json, output)


def check_no_other(output: str) -> None:
    """Raise `Conflict` when an item would take the place of anything but an item."""
    from byteatlas.store.documents import load_object

    path = Path(output)
    if not os.path.lexists(path):
        return
    try:
        document = load_object(path.read_bytes(), output) if path.stat().st_size <= MOST_BYTES else {}
    except (OSError, InvalidMetadata):
        document = {}
    if "stac_version" not in document:
        raise Conflict([f"{output} is there and is no STAC Item: it is not replaced"], "write")
