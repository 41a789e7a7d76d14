"""Names of the centres that make forecasts (WMO common code table C-11), as ecCodes' definitions have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pkgutil import get_data


@cache
def centres() -> Mapping[int, str]:
    """Names by number."""
    lines = (get_data(__package__, "centres.txt") or b"").decode().splitlines()
    rows = (line.split("\t") for line in lines)
    return {int(number): name for number, _, name in rows}
