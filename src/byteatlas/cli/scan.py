"""``byteatlas scan``: archive files to reference maps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import click

from byteatlas.cli.app import status_of
from byteatlas.cli.arguments.inputs import MapNames, files_from_option, files_of, targets_for
from byteatlas.cli.common import Size, json_option, print_json, progress, storage_option
from byteatlas.cli.map_io import KEEP_QUERIES, OVERWRITE, check_subject, existing_map, make_folder
from byteatlas.cli.tables.outcomes import FileOutcome, tell_all
from byteatlas.errors import BadRequest, ByteatlasError, unknown_text
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import local_path
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace


@click.command(no_args_is_help=True)
@click.argument("sources", nargs=-1, metavar="FILE...")
@files_from_option
@click.option("-r", "--recursive", is_flag=True, help="Look below folders; the maps' folders are like the files'.")
@click.option("--keep-folders", is_flag=True, help="Put maps into folders like those of the files.")
@click.option("--keep-suffixes", is_flag=True, help="Name maps a.nc.json and not a.json.")
@click.option("-o", "--output", required=True, metavar="DIR|FILE", help="A map (one file only) or a folder for maps.")
@click.option("--map-format", type=click.Choice(["json", "parquet"]), default="json", help="For maps in a folder.")
@click.option("--format", "scanner", metavar="NAME", help="The files' format; found by their first bytes if not given.")
@click.option("--group", metavar="PATH", help="Index only this group of each file.")
@click.option("--inline-below", type=Size(), default=0, metavar="SIZE", help="Copy smaller arrays into the map.")
@click.option(
    "--target-chunk",
    type=Size(least=1),
    default=4 << 20,
    metavar="SIZE|none",
    help="Present large uncompressed blocks as chunks of about this size (4MiB).",
)
@click.option(
    "--scanner-option",
    "scanner_options",
    multiple=True,
    metavar="FORMAT.NAME=VALUE",
    help="An option of one scanner, such as tiff.sidecar_masks=true; may be given several times.",
)
@click.option(
    "--side-files",
    is_flag=True,
    help="Write values too large for the map (variable-length data) into MAP.data beside it instead of refusing them.",
)
@click.option(
    "--on-refusal",
    type=click.Choice(["warn", "raise", "ignore"]),
    default="warn",
    help="Datasets that cannot be represented: list them, fail the file, or pass over them in silence.",
)
@OVERWRITE
@click.option("--relative", is_flag=True, help="Write the files' URLs relative to the map's folder.")
@KEEP_QUERIES
@click.option("--resume", is_flag=True, help="Pass over files whose map is there and not older than the file.")
@click.option(
    "--executor",
    metavar="KIND",
    help="serial, threads[:N] or processes[:N]; processes by default where there are many files.",
)
@click.option("--dask", metavar="ADDRESS|local", help="Scan on a Dask cluster.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when a dataset was refused.")
@click.option("-v", "--verbose", is_flag=True, help="A line for each file, however many there are.")
@storage_option
@json_option
def scan(
    sources: tuple[str, ...],
    output: str,
    strict: bool,
    verbose: bool,
    resume: bool,
    executor: str | None,
    dask: str | None,
    as_json: bool,
    access: Access,
    **chosen: Any,
) -> int:
    """Index archive files (HDF5, netCDF, TIFF, GRIB, FITS, HDF4): where each chunk's bytes lie.

    A dataset that cannot be represented is refused with a reason and listed; it is never filled with something else.
    A file that fails does not stop the others.

    \b
    Example:
      byteatlas scan data/*.nc -o maps/
      byteatlas scan data/ -o maps/ --recursive --resume
      byteatlas scan 's3://bucket/*.nc' -o maps/ --storage-options '{"anon": true}'
      byteatlas scan s3://bucket/air.nc -o air.parquet --storage-options '{"anon": true}'
    """
    check_format(chosen["scanner"])
    recursive = chosen.pop("recursive")
    names = MapNames(chosen.pop("map_format"), chosen.pop("keep_folders") or recursive, chosen.pop("keep_suffixes"))
    files = files_of(sources, chosen.pop("files_from"), output if recursive else None, access)
    targets = targets_for(files, output, names, access)
    walked = {file.url for file in files if file.walked}
    chosen["extra"] = _extra(chosen.pop("scanner_options"))
    from byteatlas.executors.running import for_each

    if dask is not None and executor is not None:
        raise click.UsageError("--dask and --executor exclude each other")
    how = executor if dask is None else f"dask:{dask}"
    work = Work(targets, access, chosen, resume)
    with progress("scanning", quiet=as_json) as bar:
        done = for_each(work, list(targets), how, verb="scan", progress=bar)
    outcomes = [
        done.results.get(source)
        or FileOutcome(source, targets[source], error=WorkerFailed(done.failures[source].message))
        for source in targets
    ]
    passed = [o for o in outcomes if o.source in walked and o.unknown]
    outcomes = [o for o in outcomes if o not in passed]
    if as_json:
        print_json([outcome.document() for outcome in outcomes])
    else:
        tell_all(outcomes, passed, output, verbose=verbose)
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failed:
        return status_of(failed[0])
    return int(strict and any(outcome.refused for outcome in outcomes))


def check_format(name: str | None) -> None:
    """Raise `BadRequest` for the name of a format that no scanner has."""
    if name is not None:
        from byteatlas.scanning.plugins import installed

        if name not in (known := sorted(installed())):
            raise BadRequest(unknown_text("scanner for format", name, known))


def _extra(given: tuple[str, ...]) -> dict[str, dict[str, JSON]]:
    """Options of single scanners, by the scanner's name; values are JSON, or text."""
    import json

    found: dict[str, dict[str, JSON]] = {}
    for item in given:
        name, equals, value = item.partition("=")
        scanner, dot, option = name.partition(".")
        if not (equals and dot and scanner and option):
            raise click.UsageError(f"--scanner-option {item}: FORMAT.NAME=VALUE is expected")
        try:
            found.setdefault(scanner, {})[option] = json.loads(value)
        except ValueError:
            found.setdefault(scanner, {})[option] = value
    return found


class WorkerFailed(ByteatlasError):
    """A file's worker died, or could not hand its result back."""


@dataclass(frozen=True, slots=True)
class Work:
    """Scan one file and write its map. A value, so that it can be sent to other processes."""

    targets: Mapping[str, str]
    access: Access
    chosen: Mapping[str, Any]
    resume: bool = False

    def __call__(self, source: str) -> FileOutcome:
        target = self.targets[source]
        if self.resume and up_to_date(source, target, self.access):
            return FileOutcome(source, target, resumed=True)
        return _scan_one(source, target, self.access, **self.chosen)


def up_to_date(source: str, target: str, access: Access = DEFAULT) -> bool:
    """Whether a map of this file is there and, where both are local files, is not older than the file."""
    return not_older(source, target) and names(existing_map(target, access), source)


def names(found: VirtualNode | None, source: str) -> bool:
    """Whether a map refers to a file, or to none at all: what is all in the map cannot be told apart."""
    from byteatlas.io.local import absolute, local_path
    from byteatlas.manifest.facts import sources_of

    known = set() if found is None else {local_path(url) or url for url in sources_of(found)}
    return found is not None and (not known or absolute(local_path(source) or source) in known)


def not_older(source: str, target: str) -> bool:
    """Whether a map, where it and what it was made from are local files, is there and not older."""
    from pathlib import Path

    from byteatlas.io.local import local_path

    map_path, source_path = local_path(target), local_path(source)
    if map_path is None:
        return True  # `existing_map` asks the storage, with the caller's options
    made = Path(map_path) / ".zmetadata" if Path(map_path).is_dir() else Path(map_path)
    if not made.exists():
        return False
    if source_path is None or not Path(source_path).exists():
        return True
    return made.stat().st_mtime_ns >= Path(source_path).stat().st_mtime_ns


def _scan_one(
    source: str,
    target: str,
    access: Access,
    *,
    scanner: str | None,
    extra: Mapping[str, JSON],
    group: str | None,
    inline_below: int | None,
    target_chunk: int | None,
    side_files: bool,
    on_refusal: Literal["warn", "raise", "ignore"],
    overwrite: bool = False,
    keep_queries: bool = False,
    relative: bool = False,
) -> FileOutcome:
    import byteatlas as ba
    from byteatlas.scanning.contract import ScanOptions

    outcome = FileOutcome(source, target)
    options = ScanOptions(inline_below=inline_below or 0, group=group, target_chunk=target_chunk, extra=extra)
    try:
        found = ba.scan(
            source,
            format=scanner,
            on_refusal="raise" if on_refusal == "raise" else "ignore",  # here the outcome lists them
            options=options,
            side_file=f"{target}.data" if side_files else None,
            access=access,
        )
        if not overwrite:
            check_subject(found, target, None, access)
        folder = target.rpartition("/")[0]
        if folder and not os.path.isdir(local_path(folder) or folder):  # noqa: PTH112 - pathlib is slow to import
            make_folder(folder)
        ba.write(found, target, options=ba.MapWriteOptions(keep_queries=keep_queries, relative=relative), access=access)
    except ByteatlasError as error:
        return replace(outcome, error=error)
    return replace(counted(outcome, found), silent=on_refusal == "ignore")


def counted(outcome: FileOutcome, found: VirtualGroup) -> FileOutcome:
    """The outcome with its numbers."""
    arrays = [node for _, node in found.walk() if isinstance(node, VirtualArray)]
    return replace(
        outcome,
        arrays=len(arrays),
        chunks=sum(_total(a.manifest.grid_shape) for a in arrays),
        refused=tuple(item for item in found.report if item.status == "refused"),
    )


def _total(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
