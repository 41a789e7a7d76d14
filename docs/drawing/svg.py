"""What the documentation's drawings share: a card with paper of its own, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

STYLE = """
.paper{fill:#fbfaf7;stroke:#e0ded7}.ink{fill:#22262e}.soft{fill:#666d79}.line{stroke:#9aa0ab;fill:none}
.empty{fill:#efede7;stroke:#d6d3ca}.c0{fill:#0f766e}.c1{fill:#c2571a}.c2{fill:#25529e}.c3{fill:#8a5aa8}.c4{fill:#b08a1e}
.other{fill:#b9bdc6}text{font:13px system-ui,sans-serif}.mono{font:12px ui-monospace,monospace}.head{font-weight:600}
.white{fill:#fff}
@media(prefers-color-scheme:dark){.paper{fill:#1b1e25;stroke:#343943}.ink{fill:#e7e8eb}.soft{fill:#a0a6b2}
.line{stroke:#6d7482}.empty{fill:#2a2e37;stroke:#3d434f}.c0{fill:#2aa79b}.c1{fill:#e27f45}.c2{fill:#6a95dd}
.c3{fill:#b184cf}.c4{fill:#d3ad43}.other{fill:#545b68}.white{fill:#11131a}}
"""


def card(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """A whole file; the title is what is read aloud."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    paper = f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    arrow = (
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="soft" d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    return "\n".join(
        [head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", arrow, paper, *parts, "</svg>\n"]
    )


def text(x: float, y: float, words: str, kind: str = "ink", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    path = f"M{x:g} {y:g}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path class="line" d="{path}" marker-end="url(#to)"/>'
