"""The demonstration's picture: a slice of the combined data beside a map of where its bytes lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from byteatlas.demo.canvas import FAINT, INK, PAPER, SOFT, Box, Canvas, Colour, thermal

PALETTE: tuple[Colour, ...] = (
    (37, 99, 166), (232, 142, 52), (64, 152, 110), (150, 104, 178), (205, 82, 92), (122, 130, 60), (92, 178, 204),
    (150, 112, 84),
)  # fmt: skip
STRUCTURE: Colour = (214, 211, 203)
LOW, HIGH = -2.0, 32.0
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Piece:
    """One chunk's bytes in a file. ``shown``: the slice in the picture was read from them."""

    array: str
    offset: int
    length: int
    shown: bool = False


@dataclass(frozen=True, slots=True)
class FileMap:
    """A file, its size in bytes, and the chunks in it."""

    name: str
    size: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """What to draw. ``cube`` has shape (time, lat, lon), degrees Celsius, NaN on land; south comes first."""

    cube: NDArray[np.float64]
    days: NDArray[np.float64]
    steps_per_file: int
    at: int
    when: str
    files: tuple[FileMap, ...]
    title: str
    facts: str


def draw_scene(scene: Scene) -> Canvas:
    """Draw on a sheet of 1800 x 1080 pixels."""
    sheet = Canvas(1800, 1080)
    sheet.text(50, 50, scene.title, 34, bold=True)
    sheet.text(50, 92, scene.facts, 18, SOFT)
    _globe(sheet, Box(104, 178, 1004, 628), scene)
    _year(sheet, Box(104, 806, 1004, 1006), scene)
    _bytes(sheet, Box(1200, 178, 1750, 800), scene)
    return sheet


def _globe(sheet: Canvas, box: Box, scene: Scene) -> None:
    sheet.text(box.left, box.top - 24, f"Sea surface temperature, {scene.when}", 21, bold=True)
    sheet.text(box.right, box.top - 24, f"sst[{scene.at}]", 16, SOFT, "right")
    sheet.picture(box, thermal(scene.cube[scene.at][::-1], LOW, HIGH))
    sheet.frame(box)
    for lat in (-60, -30, 0, 30, 60):
        y = box.top + (90 - lat) / 180 * box.height
        sheet.line(box.left - 6, y, box.left - 1, y)
        sheet.text(box.left - 12, y, _degrees(lat, "N", "S"), 15, SOFT, "right")
    for lon in (-180, -120, -60, 0, 60, 120, 180):
        x = box.left + (lon + 180) / 360 * box.width
        sheet.line(x, box.bottom, x, box.bottom + 5)
        sheet.text(x, box.bottom + 16, _degrees(lon, "E", "W"), 15, SOFT, "middle")
    bar = Box(box.left + 200, box.bottom + 48, box.right - 200, box.bottom + 64)
    sheet.scale(bar, LOW, HIGH, (0, 5, 10, 15, 20, 25, 30), "°C")


def _year(sheet: Canvas, box: Box, scene: Scene) -> None:
    """Zonal means over time: every file is a part of it."""
    steps = len(scene.days)
    sheet.text(box.left, box.top - 24, "The combined array through the year: mean of each latitude", 21, bold=True)
    sea = ~np.isnan(scene.cube)
    count = sea.sum(axis=2)
    total = np.where(sea, scene.cube, 0).sum(axis=2)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan).T
    sheet.picture(box, thermal(means[::-1], LOW, HIGH))
    sheet.frame(box)
    for lat in (-60, 0, 60):
        y = box.top + (90 - lat) / 180 * box.height
        sheet.line(box.left - 6, y, box.left - 1, y)
        sheet.text(box.left - 12, y, _degrees(lat, "N", "S"), 15, SOFT, "right")
    for k, start in enumerate(range(0, steps, scene.steps_per_file)):
        x0 = box.left + start / steps * box.width
        x1 = box.left + min(start + scene.steps_per_file, steps) / steps * box.width
        if k:
            sheet.line(x0, box.top, x0, box.bottom - 1, PAPER)
        sheet.line(x0, box.bottom, x0, box.bottom + 5)
        sheet.text((x0 + x1) / 2, box.bottom + 16, MONTHS[k % 12], 15, SOFT, "middle")
    x = box.left + (scene.at + 0.5) / steps * box.width
    for dx in (-4, 4):
        sheet.line(x + dx, box.top - 5, x + dx, box.bottom + 4, INK, 2)
    sheet.text(box.right, box.bottom + 40, "white lines: where one file ends and the next begins", 15, SOFT, "right")
    sheet.text(box.left, box.bottom + 40, "black: the slice above", 15, SOFT)


def _bytes(sheet: Canvas, box: Box, scene: Scene) -> None:
    sheet.text(box.left - 130, box.top - 24, "Where the bytes lie in the files", 21, bold=True)
    sheet.text(box.right, box.top - 24, "framed: read for the slice", 16, SOFT, "right")
    files = _grouped(scene.files)
    arrays = _arrays(files)
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(arrays)}
    longest = max(f.size for f in files)
    pitch = box.height / len(files)
    for k, file in enumerate(files):
        top = box.top + round(k * pitch)
        bar = Box(box.left, top, box.left + round(file.size / longest * box.width), top + round(pitch * 0.68))
        sheet.text(box.left - 12, (bar.top + bar.bottom) / 2, file.name, 15, SOFT, "right")
        sheet.fill(bar, STRUCTURE)
        _strip(sheet, bar, file, colours)
    _ruler(sheet, box, longest)
    _legend(sheet, Box(box.left - 130, box.bottom + 62, box.right, 1040), arrays, colours, files)


def _strip(sheet: Canvas, bar: Box, file: FileMap, colours: dict[str, Colour]) -> None:
    """One file as a bar; the pieces that the slice was read from stand out above and below it."""

    def span(piece: Piece, rise: int) -> Box:
        left = bar.left + round(piece.offset / file.size * bar.width)
        right = bar.left + round((piece.offset + piece.length) / file.size * bar.width)
        return Box(left, bar.top - rise, max(right, left + 1), bar.bottom + rise)

    for piece in file.pieces:
        sheet.fill(span(piece, 0), colours[piece.array])
        if piece.length / file.size * bar.width > 4:
            edge = span(piece, 0).right - 1
            sheet.line(edge, bar.top, edge, bar.bottom - 1, PAPER)
    for left, right in _runs([span(p, 0) for p in file.pieces if p.shown]):
        colour = next(colours[p.array] for p in file.pieces if p.shown)
        sheet.fill(Box(left - 3, bar.top - 8, right + 3, bar.bottom + 8), INK, 3)
        sheet.fill(Box(left, bar.top - 5, right, bar.bottom + 5), colour)


def _runs(spans: Sequence[Box]) -> list[tuple[int, int]]:
    """Left and right ends of boxes that touch, joined."""
    ends: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda s: s.left):
        if ends and span.left <= ends[-1][1] + 2:
            ends[-1] = (ends[-1][0], max(ends[-1][1], span.right))
        else:
            ends.append((span.left, span.right))
    return ends


def _ruler(sheet: Canvas, box: Box, longest: int) -> None:
    step = next(s for s in (10e3, 25e3, 50e3, 100e3, 200e3, 500e3, 1e6, 5e6, 1e9) if longest / s <= 6)
    y = box.bottom + 2
    sheet.line(box.left, y, box.right, y)
    for k in range(int(longest / step) + 1):
        x = box.left + k * step / longest * box.width
        sheet.line(x, y, x, y + 5)
        sheet.text(x, y + 17, f"{k * step / 1000:g}", 15, SOFT, "middle")
    sheet.text(box.left - 12, y + 17, "offset, kB", 15, SOFT, "right")


def _legend(
    sheet: Canvas, box: Box, arrays: Sequence[str], colours: dict[str, Colour], files: Sequence[FileMap]
) -> None:
    columns = (box.left, box.left + 340, box.left + 500, box.right)
    for x, head in zip(columns[1:], ("chunks", "bytes", "share of files"), strict=True):
        sheet.text(x, box.top, head, 14, SOFT, "right")
    sheet.text(box.left, box.top, "array", 14, SOFT)
    total = sum(f.size for f in files)
    rest = total
    rows: list[tuple[str, Colour, str, int]] = []
    for name in arrays:
        lengths = [p.length for f in files for p in f.pieces if p.array == name]
        rows.append((name, colours[name], f"{len(lengths)}", sum(lengths)))
        rest -= sum(lengths)
    rows.append(("not in the map: file structure", STRUCTURE, "", max(rest, 0)))
    pitch = min(27, (box.height - 12) / len(rows))
    for k, (name, colour, chunks, size) in enumerate(rows):
        y = box.top + 28 + round(k * pitch)
        sheet.line(box.left, y - pitch / 2, box.right, y - pitch / 2, FAINT)
        sheet.fill(Box(box.left, round(y - 7), box.left + 22, round(y + 7)), colour, 3)
        sheet.text(box.left + 34, y, name, 16)
        sheet.text(columns[1], y, chunks, 16, INK, "right")
        sheet.text(columns[2], y, f"{size / 1000:,.1f} kB", 16, INK, "right")
        sheet.text(columns[3], y, f"{100 * size / total:.1f} %", 16, INK, "right")


def _grouped(files: Sequence[FileMap]) -> tuple[FileMap, ...]:
    """The same files with all arrays of less than half a per cent of the bytes under one name."""
    names = _arrays(files)
    sizes = {n: sum(p.length for f in files for p in f.pieces if p.array == n) for n in names}
    small = sorted(n for n in names if sizes[n] * 200 < sum(sizes.values()))
    if len(small) < 2:
        return tuple(files)
    joined = ", ".join(small)
    return tuple(
        replace(f, pieces=tuple(replace(p, array=joined) if p.array in small else p for p in f.pieces)) for f in files
    )


def _arrays(files: Sequence[FileMap]) -> list[str]:
    """Names by bytes, the largest first."""
    sizes: dict[str, int] = {}
    for file in files:
        for piece in file.pieces:
            sizes[piece.array] = sizes.get(piece.array, 0) + piece.length
    return sorted(sizes, key=lambda name: -sizes[name])


def _degrees(value: int, positive: str, negative: str) -> str:
    return f"{abs(value)}°{positive if value > 0 else negative if value < 0 else ''}"
