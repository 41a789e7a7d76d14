"""The demonstration's picture: a slice of the combined data beside a map of where its bytes lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from byteatlas.demo.layout import draw_files, draw_table
from byteatlas.demo.scene import Scene, array_table, grouped, zonal_means
from byteatlas.demo.style import INK, LAND, PALETTE, PAPER, SOFT, TEMPERATURE
from byteatlas.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

LOW, HIGH = -2.0, 32.0
"""Ends of the temperature scale, degrees Celsius."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
RIGHT = 0.615
"""Where the panels about bytes begin, as a part of the width."""


def draw_scene(scene: Scene, path: Path) -> None:
    """Draw a picture of 1600 x 1000 pixels into a PNG file.

    Raises `MissingExtra` without matplotlib.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("demo", "drawing the picture") from error
    with rc_context({"font.family": "DejaVu Sans", "font.size": 10.5, "text.color": INK, "axes.edgecolor": SOFT}):
        figure = Figure(figsize=(16, 10), dpi=100, facecolor=PAPER)
        figure.text(0.035, 0.952, scene.title, size=24, weight="bold", va="center")
        figure.text(0.035, 0.915, scene.facts, size=12, color=SOFT, va="center")
        _globe(figure, scene)
        _year(figure, scene)
        files = grouped(scene.files)
        table = array_table(files, scene.checked)
        colours = {row.name: PALETTE[i % len(PALETTE)] for i, row in enumerate(table)}
        _heading(figure, RIGHT, 0.858, "Where the bytes lie in the files")
        figure.text(0.965, 0.858, "framed: read for the slice", color=SOFT, ha="right")
        draw_files(figure.add_axes((RIGHT + 0.088, 0.335, 0.262, 0.505)), files, colours)
        draw_table(figure.add_axes((RIGHT, 0.035, 0.35, 0.245)), files, table, colours)
        figure.savefig(path)


def _heading(figure: Figure, x: float, y: float, text: str) -> None:
    figure.text(x, y, text, size=14, weight="bold", va="baseline")


def _globe(figure: Figure, scene: Scene) -> None:
    """One slice of the combined array, in Mollweide's projection (equal areas)."""
    day = scene.when
    _heading(figure, 0.035, 0.858, f"Sea surface temperature, {day.day} {day:%B %Y}")
    figure.text(0.575, 0.858, f"sst[{scene.at}]", size=11, color=SOFT, ha="right", family="DejaVu Sans Mono")
    axes = figure.add_axes((0.06, 0.415, 0.5, 0.42), projection="mollweide")
    rows, columns = scene.cube.shape[1:]
    lon, lat = np.linspace(-np.pi, np.pi, columns + 1), np.linspace(-np.pi / 2, np.pi / 2, rows + 1)
    mesh = _temperatures(axes, lon, lat, scene.cube[scene.at])
    axes.set_xticks(np.radians([-120, -60, 0, 60, 120]), [])
    latitudes = np.array([-60, -30, 0, 30, 60])
    axes.set_yticks(np.radians(latitudes), [degrees_north(v) for v in latitudes.tolist()])
    axes.tick_params(labelcolor=SOFT)
    axes.grid(color=INK, alpha=0.18, linewidth=0.6)
    bar = figure.colorbar(mesh, cax=figure.add_axes((0.16, 0.376, 0.3, 0.014)), orientation="horizontal")
    bar.set_ticks(list(range(0, 31, 5)))
    bar.ax.tick_params(length=4, color=SOFT, labelcolor=SOFT)
    bar.outline.set_visible(False)
    figure.text(0.467, 0.383, "°C", color=SOFT, va="center")


def _year(figure: Figure, scene: Scene) -> None:
    """Means of the latitudes over time: every file is a part of it."""
    _heading(figure, 0.035, 0.29, "The combined array through the year: mean of each latitude")
    axes = figure.add_axes((0.06, 0.085, 0.515, 0.185))
    means = zonal_means(scene.cube)
    _temperatures(axes, np.arange(means.shape[1] + 1), np.linspace(-90, 90, means.shape[0] + 1), means)
    axes.set_yticks([-60, 0, 60], [degrees_north(v) for v in (-60, 0, 60)])
    starts = np.flatnonzero(np.diff(scene.files_at, prepend=-1))
    ends = np.append(starts[1:], len(scene.files_at))
    axes.set_xticks((starts + ends) / 2, [MONTHS[k % 12] for k in range(len(starts))])
    axes.tick_params(labelcolor=SOFT, color=SOFT, length=0)
    axes.vlines(starts[1:], -90, 90, color=PAPER, linewidth=1.2)
    axes.axvspan(scene.at, scene.at + 1, fill=False, edgecolor=INK, linewidth=1.6, clip_on=False)
    figure.text(0.06, 0.035, "black frame: the slice above", color=SOFT)
    figure.text(0.575, 0.035, "white lines: where one file ends and the next begins", color=SOFT, ha="right")


def _temperatures(axes: Axes, x: object, y: object, values: object) -> QuadMesh:
    """Cells stay cells; NaN shows the colour of land beneath."""
    axes.set_facecolor(LAND)
    axes.grid(False)
    return axes.pcolormesh(x, y, values, vmin=LOW, vmax=HIGH, cmap=TEMPERATURE, antialiased=False)


def degrees_north(value: int) -> str:
    return f"{abs(value)}°{'N' if value > 0 else 'S' if value < 0 else ''}"
