"""Where a crash happened."""

from __future__ import annotations

from pathlib import Path


def crash_place(error: BaseException) -> str:
    """File and line of the innermost frame."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where else ""
