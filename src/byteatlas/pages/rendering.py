"""Templates of this package, with everything escaped that comes from files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from byteatlas.errors import MissingExtra, NotFound

ASSETS = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
"""The style and the script of all pages, with their media types."""


@cache
def environment() -> Any:
    """jinja2's environment. Raises `MissingExtra` where jinja2 is not installed."""
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise MissingExtra("serve", "a page for people") from error
    folder = files("byteatlas.pages") / "templates"
    texts = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".html")}
    return Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def render(template: str, **values: Any) -> str:
    """A page. What is in ``values`` is text, whatever it looks like."""
    text: str = environment().get_template(template).render(**values)
    return text


def asset(name: str) -> tuple[bytes, str]:
    """A file that pages refer to, and its media type. Raises `NotFound`."""
    if name not in ASSETS:
        raise NotFound(f"no page has {name}")
    return (files("byteatlas.pages") / "assets" / name).read_bytes(), ASSETS[name]
