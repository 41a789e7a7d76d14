"""A small text is parsed again when its chunks are asked for: it may be another one then."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from byteatlas.errors import SourceChanged
from byteatlas.manifest.json.text.parsed import ParsedText
from byteatlas.manifest.options import MapReadOptions
from byteatlas.types import Buffer, ByteRange


class Rewritten:
    """A text that somebody writes to."""

    url = "map.json"

    def __init__(self, text: bytes) -> None:
        self.text = text

    def size(self) -> int:
        return len(self.text)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        return [self.text[r.offset : r.end] for r in ranges]

    def read_all(self) -> Buffer:
        return self.text


@pytest.mark.parametrize("text", [b"", b'{"version": 1, "refs": {"x/0', b"{}", b"[]", b"\xff"])
def test_what_is_no_map_any_more_has_no_missing_chunks(text: bytes) -> None:
    source = Rewritten(json.dumps({"version": 1, "refs": {"x/0": ["a.bin", 0, 1]}}).encode())
    known = ParsedText.of(source, "map.json", MapReadOptions(at_once=False))
    assert known is not None
    source.text = text
    with pytest.raises(SourceChanged, match=r"map\.json"):
        known.find("x/0", "x/")
