"""What people get: pages, their style and script, quick-look pictures."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.serving.bodies import Body, body_of
from byteatlas.serving.faults import Refused
from byteatlas.serving.published import Published


def home(published: Mapping[str, Published], base: str) -> Body:
    raise Refused(404, "later")


def overview(published: Published, base: str) -> Body:
    raise Refused(404, "later")


def asset(name: str) -> Body:
    raise Refused(404, "later")


def look(published: Published, query: str) -> Body:
    raise Refused(404, "later")
