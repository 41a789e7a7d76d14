"""Draws `scaling.svg` from `scaling.json`: ``python docs/how-to/scaling.py``.

The numbers are those of ``python -m tests.bench.scaling --save docs/how-to/scaling.json``.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

HERE = Path(__file__).parent
WIDTH, HEIGHT = 680, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 30, 50
SERIES = {"write Parquet, CPU s": "#b8442a", "combine, CPU s": "#25529e"}
LABELS = {"write Parquet, CPU s": "write Parquet", "combine, CPU s": "combine, all checks"}
INK, SOFT, FAINT = "#22262e", "#707682", "#e0ded7"


def place(value: float, low: float, high: float, begin: float, end: float) -> float:
    """A position on a logarithmic axis."""
    return begin + (math.log10(value) - math.log10(low)) / (math.log10(high) - math.log10(low)) * (end - begin)


def decades(low: float, high: float) -> list[float]:
    """The powers of ten from one value to another."""
    return [10.0**k for k in range(round(math.log10(low)), round(math.log10(high)) + 1)]


def text(x: float, y: float, words: str, colour: str = SOFT, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def drawn(rows: list[dict[str, float]]) -> str:
    """The picture: CPU seconds over millions of references, both logarithmic, with lines of cost that is linear."""
    sizes = [row["million references"] for row in rows]
    values = [row[name] for row in rows for name in SERIES]
    x0, x1 = 10 ** math.floor(math.log10(min(sizes))), 10 ** math.ceil(math.log10(max(sizes)))
    y0, y1 = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)))

    def at(size: float, seconds: float) -> tuple[float, float]:
        return place(size, x0, x1, LEFT, WIDTH - RIGHT), place(seconds, y0, y1, HEIGHT - BOTTOM, TOP)

    parts = []
    for y in decades(y0, y1):
        _, py = at(x0, y)
        parts.append(f'<path d="M{LEFT} {py:.1f}H{WIDTH - RIGHT}" stroke="{FAINT}"/>')
        parts.append(text(LEFT - 8, py + 4, f"{y:g} s", anchor="end"))
    for x in decades(x0, x1):
        px, _ = at(x, y0)
        parts.append(f'<path d="M{px:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="{FAINT}"/>')
        parts.append(text(px, HEIGHT - BOTTOM + 18, f"{x:g} million"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "references, in files of 10,000"))
    parts.append(text(LEFT, TOP - 12, "CPU seconds; dashed: exactly linear from the largest size down", anchor="start"))
    for name, colour in SERIES.items():
        points = [at(size, row[name]) for size, row in zip(sizes, rows, strict=True)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        start = at(sizes[0], max(y0, rows[-1][name] * sizes[0] / sizes[-1]))
        end = points[-1]
        ideal = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
        parts.append(f'<path d="{ideal}" stroke="{colour}" stroke-dasharray="3 4" opacity="0.6"/>')
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in points]
        parts.append(text(end[0] + 10, end[1] + 4, f"{LABELS[name]}: {rows[-1][name]:.2g} s", INK, "start"))
    body = "\n".join(parts)
    view = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    paper = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fcfbf8"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {view}>\n{paper}\n{body}\n</svg>\n'


if __name__ == "__main__":
    (HERE / "scaling.svg").write_text(drawn(json.loads((HERE / "scaling.json").read_text())))
