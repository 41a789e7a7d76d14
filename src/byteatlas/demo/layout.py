"""Where the bytes lie: every file as a bar of its chunks, and a table of the arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from byteatlas.demo.scene import ArrayBytes, FileMap
from byteatlas.demo.style import FAINT, INK, PAPER, SOFT, STRUCTURE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THICK = 0.66
"""Height of a file's bar where the distance of two files is 1."""
BORDERED = 0.006
"""Chunks that are longer than this part of the longest file have a border; in shorter ones it would hide the colour."""


def draw_files(axes: Axes, files: Sequence[FileMap], colours: Mapping[str, str]) -> None:
    """One bar a file, the first on top; what the slice was read from is framed."""
    longest = max(f.size for f in files)
    for row, file in enumerate(files):
        bottom = row - THICK / 2
        axes.broken_barh([(0, file.size / 1000)], (bottom, THICK), color=STRUCTURE)
        for name, colour in colours.items():
            mine = [p for p in file.pieces if p.array == name]
            edges = [PAPER if p.length > BORDERED * longest else colour for p in mine]
            spans = [(p.offset / 1000, p.length / 1000) for p in mine]
            axes.broken_barh(spans, (bottom, THICK), facecolor=colour, edgecolor=edges, linewidth=0.6)
        for left, right in runs([(p.offset, p.offset + p.length) for p in file.pieces if p.shown]):
            span = [(left / 1000, (right - left) / 1000)]
            axes.broken_barh(span, (bottom - 0.12, THICK + 0.24), facecolor="none", edgecolor=INK, linewidth=2)
    axes.set(xlim=(0, longest / 1000), ylim=(len(files) - 0.5, -0.5), facecolor="none")
    axes.set_yticks(range(len(files)), [f.name for f in files])
    axes.tick_params(axis="y", length=0, labelcolor=SOFT)
    axes.tick_params(axis="x", color=SOFT, labelcolor=SOFT)
    axes.set_xlabel("offset in the file, kB", color=SOFT)
    axes.spines[["top", "left", "right"]].set_visible(False)


def runs(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Begins and ends of byte ranges; those that touch are joined."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def draw_table(axes: Axes, files: Sequence[FileMap], table: Sequence[ArrayBytes], colours: Mapping[str, str]) -> None:
    """A line for each array: its colour, chunks, bytes, share of the files, and the values that were checked."""
    total = sum(f.size for f in files)
    rest = total - sum(row.bytes for row in table)
    lines = [(r.name, colours[r.name], f"{r.chunks}", r.bytes, f"{r.checked:,} ✓" if r.checked else "") for r in table]
    lines.append(("file structure, not in the map", STRUCTURE, "", max(rest, 0), ""))
    axes.set(xlim=(0, 1), ylim=(len(lines) + 0.5, -0.5))
    axes.set_axis_off()
    columns = (0.45, 0.61, 0.74, 1.0)
    for x, head in zip(columns, ("chunks", "kB", "share", "equal to HDF5's"), strict=True):
        axes.text(x, 0, head, color=SOFT, ha="right", va="center")
    axes.text(0, 0, "array", color=SOFT, va="center")
    for y, (name, colour, chunks, size, checked) in enumerate(lines, 1):
        axes.axhline(y - 0.5, color=FAINT, linewidth=0.8)
        axes.broken_barh([(0, 0.035)], (y - 0.27, 0.54), color=colour)
        axes.text(0.052, y, name, va="center")
        cells = (chunks, f"{size / 1000:,.1f}", f"{100 * size / total:.1f} %", checked)
        for x, cell in zip(columns, cells, strict=True):
            axes.text(x, y, cell, ha="right", va="center")
