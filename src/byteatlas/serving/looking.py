"""Quick looks as clients ask for them."""

from __future__ import annotations

from urllib.parse import parse_qs

from byteatlas.array import Node
from byteatlas.errors import BadRequest
from byteatlas.pages.looks import quick_look
from byteatlas.types import JSON


def look(root: Node, query: str) -> JSON:
    """What a page shows of one array, as JSON; see `byteatlas.pages.looks.quick_look`.

    ``array=PATH&at=0,3``: the array, and the indices along its leading axes.

    Raises `NotFound`, `BadRequest`, and what reading raises.
    """
    try:
        asked = parse_qs(query, keep_blank_values=True, max_num_fields=8)
    except ValueError as error:
        raise BadRequest("array and at are what can be asked for") from error
    text = asked.get("at", [""])[-1]
    words = text.split(",") if text else []
    if not all(w.isascii() and w.isdigit() and len(w) < 19 for w in words):
        raise BadRequest("at has an index for each leading axis")
    return quick_look(root, asked.get("array", [""])[-1], [int(w) for w in words] if words else None)
