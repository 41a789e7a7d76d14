"""Templates of this package, with everything escaped that comes from files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from byteatlas.errors import MissingExtra, NotFound

ASSETS = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
"""The style and the script of all pages, with their media types."""
PARTS = {"page.css": ("palette.css", "cards.css", "page.css"), "page.js": ("common.js", "page.js")}
"""What an asset is put together from: colours, the parts of a page, the page; and what all scripts share, first."""


@cache
def environment() -> Any:
    """jinja2's environment. Raises `MissingExtra` where jinja2 is not installed."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra("report", "a page for people") from error
    folder = files("byteatlas.pages") / "templates"
    texts = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".html")}
    return Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def render(template: str, **values: Any) -> str:
    """A page. What is in ``values`` is text, whatever it looks like; what UTF-8 cannot hold becomes escapes."""
    text: str = environment().get_template(template).render(**values)
    return text.encode(errors="backslashreplace").decode()


def style() -> str:
    """The style of all pages, to stand in a page."""
    return asset("page.css")[0].decode()


def cell_style() -> str:
    """The style of what stands in a page of somebody else's, a notebook's: it holds inside of it alone."""
    palette, parts, cell = (_read(name) for name in ("palette.css", "cards.css", "cell.css"))
    return f"{palette}.byteatlas {{\n{parts}}}\n{cell}"


def script() -> str:
    """The script of reports, to stand in a page."""
    return _read("common.js")


def _read(name: str) -> str:
    return (files("byteatlas.pages") / "assets" / name).read_text(encoding="utf-8")


def asset(name: str) -> tuple[bytes, str]:
    """A file that pages refer to, and its media type. Raises `NotFound`."""
    if name not in ASSETS:
        raise NotFound(f"no page has {name}")
    return "".join(map(_read, PARTS[name])).encode(), ASSETS[name]
