"""What ``byteatlas --help`` prints, without importing click: the text that click makes of the same tables."""

from __future__ import annotations

import os
import sys

DESCRIPTION = """Index HDF5, netCDF, TIFF, GRIB, FITS and HDF4 archives into virtual Zarr; combine them; read right.

\b
Example:
  byteatlas scan data/*.nc -o maps/
  byteatlas combine maps/*.json -o all.parquet --concat time
  byteatlas info all.parquet
"""

OPTIONS = {"--version": "Show the version and exit.", "-h, --help": "Show this message and exit."}

COMMANDS = {
    "scan": ("byteatlas.cli.scan:scan", "Index archive files: write a reference map for each."),
    "combine": ("byteatlas.cli.combine:combine", "Combine maps or archives into one map; show what differs."),
    "info": ("byteatlas.cli.info:info", "Show a map, an archive or a Zarr store as a tree."),
    "verify": ("byteatlas.cli.verify:verify", "Compare every value with the format's own library."),
    "check": ("byteatlas.cli.verify:check", "Tell which files of a map changed, moved or vanished."),
    "copy": ("byteatlas.cli.copy:copy", "Copy values into a real Zarr store, in new chunks if asked to."),
    "model": ("byteatlas.cli.model:model", "Structure without data: show, create, validate, compare."),
    "convert": ("byteatlas.cli.maps:convert", "Change the form of a map: JSON, Parquet."),
    "rename": ("byteatlas.cli.maps:rename", "Write a map with other source URLs."),
    "inline": ("byteatlas.cli.maps:inline", "Copy small chunks into a map."),
    "deinline": ("byteatlas.cli.maps:deinline", "Move inline data into a file beside the map."),
    "consolidate": ("byteatlas.cli.maps:consolidate", "Put all metadata under one key as well."),
    "select": ("byteatlas.cli.select:select", "Write the part of a map between coordinate values."),
    "split": ("byteatlas.cli.maps:split", "Write one map as several."),
    "append": ("byteatlas.cli.maps:append", "Add maps or archives to a map."),
    "diff": ("byteatlas.cli.compare:diff", "Compare two maps."),
    "stats": ("byteatlas.cli.compare:stats", "Count chunks and bytes; what a slice would cost."),
    "report": ("byteatlas.cli.web.report:report", "Write a page about a map, a file or a folder."),
    "stac": ("byteatlas.cli.web.stac:stac", "Describe a map as a STAC Item."),
    "serve": ("byteatlas.cli.web.serve:serve", "Serve maps over HTTP as Zarr, with a page for people."),
    "doctor": ("byteatlas.cli.health.doctor:doctor", "Show what is installed, and what a file or map lacks."),
    "demo": ("byteatlas.cli.demo:demo", "Make a small archive, index, combine, check and draw it."),
}
"""Each command: where it is (``module:attribute``, imported when it is first needed), and its line in the overview."""

EPILOG = (
    "Exit status: 0 done, 1 a check found something wrong, 2 usage, 3 unreadable or unsupported input, "
    "4 not found or not reachable, 5 files that cannot be combined, or a target that is kept."
)

MOST_COLUMNS = 100


def overview(columns: int) -> str:
    """The whole text, for a terminal of so many columns."""
    width = max(min(columns, MOST_COLUMNS) - 2, 50)
    summary, _, example = DESCRIPTION.partition("\n\n\b\n")
    options = _table(OPTIONS, width)
    commands = _table({name: line for name, (_, line) in COMMANDS.items()}, width)
    lines = ["Usage: byteatlas [OPTIONS] COMMAND [ARGS]...", "", *_wrapped(summary, width, "  "), ""]
    lines += [f"  {line}" for line in example.splitlines()]
    lines += ["", "Options:", *options, "", "Commands:", *commands, "", *_wrapped(EPILOG, width, "  ")]
    return "\n".join(lines) + "\n"


def _table(rows: dict[str, str], width: int) -> list[str]:
    """Two columns, the second wrapped."""
    column = max(map(len, rows)) + 4
    lines = []
    for name, text in rows.items():
        first, *others = _wrapped(text, width, " " * column)
        lines += [f"  {name}".ljust(column) + first.lstrip(), *others]
    return lines


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    lines = [indent]
    for word in text.split():
        line = f"{lines[-1]} {word}" if lines[-1] != indent else indent + word
        if len(line) > width and lines[-1] != indent:
            lines.append(indent + word)
        else:
            lines[-1] = line
    return lines


def terminal_columns() -> int:
    """As `shutil.get_terminal_size` finds them; importing that takes a quarter of the command's time."""
    try:
        return int(os.environ["COLUMNS"]) or 80
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 80
    except (OSError, ValueError):
        return 80
