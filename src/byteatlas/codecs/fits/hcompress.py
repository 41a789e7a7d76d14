"""HCOMPRESS_1."""
from typing import Any
def decode_hcompress(data: Any, rows: int, columns: int, smooth: bool) -> Any:
    raise NotImplementedError
