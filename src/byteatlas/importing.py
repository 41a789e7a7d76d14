"""Objects that are named as text, ``module:attribute``, as entry points and tables of lazily imported things do."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def shown_as_html(value: object) -> str | None:
    """``_repr_html_`` of our values. How they look is known on a floor above them, which is looked for by name when a
    notebook asks: None, and the text is shown, where jinja2 is not installed."""
    html: str | None = object_named("byteatlas.pages.cells:as_html")(value)
    return html


def report_of(value: object) -> str:
    """A page about one of our values: what `byteatlas.report` gives for it. Raises `MissingExtra` without jinja2."""
    html: str = object_named("byteatlas.api.reporting.page:report")(value)
    return html


def object_named(target: str) -> Any:
    """The object that ``module:attribute`` names; its module is imported.

    >>> object_named("math:pi")
    3.141592653589793
    """
    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found
