"""``byteatlas copy``: virtual (or stored) arrays into a real Zarr store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from byteatlas.cli.common import (
    absent_parts_option,
    count_text,
    json_option,
    print_json,
    progress,
    size_text,
    storage_option,
)
from byteatlas.io.access import AbsentParts, Access
from byteatlas.types import Shape

if TYPE_CHECKING:
    from byteatlas.array.levels.options import LevelOptions, Resampling


@click.command(no_args_is_help=True)
@click.argument("source", metavar="X")
@click.argument("target", metavar="STORE")
@click.option("--group", "path", default="", metavar="PATH", help="Copy only this group or array.")
@click.option("--zarr-format", type=click.Choice(["2", "3"]), default="3", show_default=True)
@click.option(
    "--chunks", multiple=True, metavar="[PATH=]N,N,...", help="Chunk shape: of one array, or of all with so many axes."
)
@click.option(
    "--shards", multiple=True, metavar="[PATH=]N,N,...", help="Shard shape, likewise; a multiple of the chunks."
)
@click.option(
    "--memory",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    metavar="MB",
    help="Decoded data held at a time.",
)
@click.option(
    "--levels",
    metavar="N,N,...|until=N",
    help="Also write overviews of rasters and grids: by these factors, or halved until the longer side is at most N.",
)
@click.option("--resampling", type=click.Choice(["nearest", "mean", "mode"]), help="Of --levels; default: mean.")
@click.option("--geozarr", is_flag=True, help="Also write where rasters lie as spatial: and proj: attributes.")
@click.option("--no-resume", is_flag=True, help="Refuse a store that holds an unfinished copy.")
@absent_parts_option
@storage_option
@json_option
def copy(
    source: str,
    target: str,
    path: str,
    zarr_format: str,
    chunks: tuple[str, ...],
    shards: tuple[str, ...],
    memory: int,
    levels: str | None,
    resampling: Resampling | None,
    geozarr: bool,
    no_resume: bool,
    absent_parts: AbsentParts,
    access: Access,
    as_json: bool,
) -> None:
    """Copy a map's, store's or archive's values into a Zarr store, in new chunks if asked to.

    STORE is a folder, a ZIP file (NAME.zip) or any URL that fsspec can write to (s3://..., memory://...). A copy that
    was interrupted goes on where it stopped when the same command is given again. A ZIP file is collected in a folder
    beside it, and appears under its name when it is complete.

    \b
    Example:
      byteatlas copy all.parquet sst.zarr --group sst --chunks 72,36,36
      byteatlas copy sst.tif sst.zarr --levels until=512 --resampling mean
      byteatlas copy ocean.nc ocean.zarr --chunks atmosphere/t2m=6,48,96 --shards atmosphere/t2m=6,144,288
      byteatlas copy all.parquet s3://bucket/all.zarr --storage-options '{"s3://bucket/": {"profile": "me"}}'
    """
    import byteatlas as ba
    from byteatlas.array.writing.copy import CopyOptions

    if resampling is not None and levels is None:
        raise click.UsageError("--resampling is of --levels: say which levels there are to be")
    node = ba.open(source, path=path, access=access, absent_parts=absent_parts)
    options = CopyOptions(
        zarr_format=3 if zarr_format == "3" else 2,
        chunks=shapes(chunks, "--chunks"),
        shards=shapes(shards, "--shards"),
        memory=memory << 20,
        resume=not no_resume,
        geozarr=geozarr,
        levels=None if levels is None else level_options(levels, resampling or "mean"),
    )
    with progress("copying", quiet=as_json) as bar:
        done = ba.copy(node, target, options=options, access=access, progress=bar)
    if as_json:
        what = {"arrays": done.arrays, "bytes": done.written, "nbytes": done.nbytes}
        print_json({"source": source, "target": target, **what})
    else:
        sizes = f"{size_text(done.written)} written for {size_text(done.nbytes)}"
        click.echo(f"{source} -> {target}: {count_text(done.arrays, 'array')}, {sizes}")


def level_options(words: str, resampling: Resampling) -> LevelOptions:
    """``2,4,8`` or ``until=512``.

    >>> level_options("2,4", "mode").factors, level_options("until=64", "mean").until
    ((2, 4), 64)
    """
    from byteatlas.array.levels.options import LevelOptions

    kind, _, number = words.rpartition("=")
    try:
        if kind == "until":
            return LevelOptions(until=int(number), resampling=resampling)
        return LevelOptions(factors=tuple(int(n) for n in words.split(",")), resampling=resampling)
    except ValueError as error:
        why = f"{words!r} is not like 2,4,8 or until=512" if type(error) is ValueError else str(error)
        raise click.BadParameter(why, param_hint="--levels") from None


def shapes(words: tuple[str, ...], option: str) -> dict[str, Shape] | Shape | None:
    """``a/b=1,2`` by path, or one ``1,2`` for all.

    >>> shapes(("a=1,2", "b=3"), "--chunks"), shapes(("4,5",), "--chunks")
    ({'a': (1, 2), 'b': (3,)}, (4, 5))
    """
    found: dict[str, Shape] = {}
    for word in words:
        path, _, numbers = word.rpartition("=")
        try:
            found[path.strip("/")] = tuple(int(n) for n in numbers.split(","))
        except ValueError:
            raise click.BadParameter(f"{numbers!r} is no shape", param_hint=option) from None
    if "" in found:
        if len(found) > 1:
            raise click.BadParameter("one shape for all arrays, or shapes by path, not both", param_hint=option)
        return found[""]
    return found or None
