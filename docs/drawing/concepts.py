"""The drawings of the page on concepts: ``python docs/drawing/concepts.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from docs.drawing.svg import arrow, box, card, text
from docs.running.blocks import ROOT

CHUNKS = ("0.0", "0.1", "1.0", "1.1")
PLACES = ((4096, 51200), (55296, 49871), (105167, 50433), (155600, 48012))


def reference_map() -> str:
    """A file, a map that says where its chunks lie, and the array that is read through it."""
    parts = [text(30, 34, "archive file", "ink head"), text(256, 34, "reference map", "ink head")]
    parts += [text(600, 34, "array", "ink head"), box(30, 52, 150, 26, "empty"), text(40, 69, "header", "soft")]
    parts += [box(30, 194, 150, 26, "empty"), text(40, 211, "other data", "soft")]
    parts += [text(256, 72, '"sst/.zarray": shape, dtype, codecs', "soft mono")]
    for i, (name, (offset, length)) in enumerate(zip(CHUNKS, PLACES, strict=True)):
        y, row = 80 + 28 * i, 98 + 28 * i
        parts += [box(30, y, 150, 26, f"c{i}"), text(40, y + 18, f"chunk {name}", "white")]
        parts += [text(256, row, f'"sst/{name}": [file, {offset}, {length}]', "ink mono")]
        parts += [arrow(250, row - 4, 184, y + 13)]
        x, at = 600 + 72 * (i % 2), 72 + 62 * (i // 2)
        parts += [box(x, at, 68, 58, f"c{i}"), text(x + 34, at + 34, name, "white", "middle")]
    parts += [arrow(594, 132, 548, 132)]
    parts += [
        text(30, 250, "stays as it is, where it is", "soft"),
        text(256, 250, "small: kilobytes for gigabytes", "soft"),
    ]
    parts += [text(600, 250, "read like any Zarr", "soft")]
    return card(
        770, 270, "A reference map says where in the archive file the bytes of each chunk of an array lie.", parts
    )


WANTED = {(1, 1), (1, 2), (2, 1), (2, 2)}


def read_plan() -> str:
    """A selection, the chunks that it touches, their places, few requests, decoding, the result."""
    heads = ("1 select", "2 look up", "3 fetch", "4 decode", "5 scatter")
    parts = [text(x, 34, word, "ink head") for x, word in zip((24, 206, 392, 548, 700), heads, strict=True)]
    order = [(r, c) for r in range(4) for c in range(4)]
    colours: dict[tuple[int, int], str] = {}
    for r, c in order:
        kind = f"c{len(colours)}" if (r, c) in WANTED else "empty"
        if (r, c) in WANTED:
            colours[r, c] = kind
        parts.append(box(24 + 36 * c, 52 + 36 * r, 33, 33, kind))
    parts.append('<rect class="line" x="74" y="104" width="64" height="54" stroke-width="2" stroke-dasharray="4 3"/>')
    y, places = 52.0, {}
    for place in order:
        height = 14.0 if place in WANTED else 7.0
        parts.append(box(206, y, 90, height - 1, colours.get(place, "empty")))
        places[place] = y
        y += height
    runs = [((1, 1), (1, 2)), ((2, 1), (2, 2))]
    for i, run in enumerate(runs):
        top, at = places[run[0]], 80 + 64 * i
        parts += [
            arrow(300, top + 14, 384, at + 14),
            box(392, at, 44, 28, colours[run[0]]),
            box(438, at, 44, 28, colours[run[1]]),
        ]
        parts.append(text(392, at + 44, f"request {i + 1}", "soft"))
        for k, place in enumerate(run):
            to = 66 + 64 * i + 30 * k
            parts += [arrow(486, at + 14, 542, to + 10), box(548, to, 92, 22, colours[place])]
            parts += [text(594, to + 16, f"thread {2 * i + k + 1}", "white", "middle"), arrow(644, to + 11, 692, 116)]
            parts.append(box(700 + 32 * k, 90 + 27 * i, 32, 27, colours[place]))
    notes = (
        (24, "which chunks?"),
        (206, "bytes in the file"),
        (392, "neighbours together"),
        (548, "side by side"),
        (700, "in place"),
    )
    parts += [text(x, 222, words, "soft") for x, words in notes]
    return card(
        800,
        242,
        "A read is planned as a whole: chunks, places, few requests, decoding in threads, values in place.",
        parts,
    )


FILES = {"docs/images/reference-map.svg": reference_map, "docs/images/read-plan.svg": read_plan}

if __name__ == "__main__":
    for name, draw in FILES.items():
        (ROOT / name).write_text(draw(), encoding="utf-8")
