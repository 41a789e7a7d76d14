"""The plots of the page on speed, from the tables of that page: ``python docs/drawing/speed.py``.

A bar is how many times as long as byteatlas somebody takes for the same; the axis is logarithmic.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.drawing.svg import box, card, text
from docs.running.blocks import ROOT

PAGE = ROOT / "docs" / "status" / "speed.md"
ROW = re.compile(r"^\| (.+?) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
LEFT, WIDTH, RIGHT = 290, 760, 70
NOT_PEERS = ("decoders alone", "byteatlas", "parsing alone", "ujson")
PLOTS = {
    "speed-scan": ("Index files", ("remote_scan", "scan", "archive", "raster")),
    "speed-read": ("Read values", ("reading", "remote", "native")),
    "speed-maps": ("Combine, write and open maps", ("combine", "references")),
}


def tables(page: str, section: str) -> list[tuple[str, list[tuple[str, float]]]]:
    """The tables of a section: headings, and (who, times ours) of everybody else."""
    body = page.partition(f"<!-- {section} -->")[2].partition(f"<!-- end of {section} -->")[0]
    found = []
    for part in body.split("\n**")[1:]:
        heading, _, rest = part.partition("**")
        rows = [(re.split(r"[:(]", who)[0].strip(), float(times)) for who, _, times in ROW.findall(rest)]
        peers = [(who, times) for who, times in rows if not who.startswith(NOT_PEERS)]
        if peers:
            found.append((heading, peers))
    return found


def plot(title: str, groups: list[tuple[str, list[tuple[str, float]]]]) -> str:
    """All bars of some tables."""
    most = max(times for _, rows in groups for _, times in rows)
    least = min(1.0, *(times for _, rows in groups for _, times in rows))
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))

    def at(times: float) -> float:
        return LEFT + (math.log10(times) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    y, parts = 66, [text(20, 30, f"{title}: times as long as byteatlas", "ink head")]
    for heading, rows in groups:
        parts.append(text(20, y + 10, heading, "ink"))
        y += 18
        for who, times in rows:
            first, last = sorted((at(1.0), at(times)))
            parts.append(text(LEFT - 8, y + 11, who, "soft", "end"))
            parts.append(box(first, y, max(last - first, 1.0), 13, "c0" if times >= 1 else "c1"))
            parts.append(text(max(last, first) + 6, y + 11, f"{times:.3g}", "soft"))
            y += 17
        y += 12
    axis = [10.0**k for k in range(low, high + 1)]
    lines = [f'<path class="line" stroke-opacity=".4" d="M{at(x):g} 50V{y - 6}"/>' for x in axis]
    return card(WIDTH, y + 8, title, [*lines, *(text(at(x), 46, f"{x:g}", "soft", "middle") for x in axis), *parts])


def plots() -> dict[str, str]:
    """Names of files, and what is in them."""
    page = PAGE.read_text(encoding="utf-8")
    drawn = {}
    for name, (title, sections) in PLOTS.items():
        drawn[f"docs/status/{name}.svg"] = plot(title, [table for s in sections for table in tables(page, s)])
    return drawn


def draw() -> None:
    """Write all plots."""
    for name, drawing in plots().items():
        (ROOT / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    draw()
