"""A small text is parsed again when its chunks are asked for: it may be another one then."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteatlas.errors import InvalidMetadata, SourceChanged
from byteatlas.manifest.json.text.parsed import ParsedText
from byteatlas.manifest.model import reference_at
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.references import read_references
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


FIRST, SECOND, OTHER = ["/a", 0, 4], ["/a", 4, 4], ["/a", 8, 4]
TWICE = {
    "apart": [("x/0", FIRST), ("x/1", OTHER), ("x/0", SECOND)],
    "side by side": [("x/0", FIRST), ("x/0", FIRST), ("x/1", OTHER)],
    "in two spellings": [("x/0", FIRST), ("x/1", OTHER), (r"x\/0", SECOND)],
    "the first in another spelling": [(r"x\/0", FIRST), ("x/1", OTHER), ("x/0", SECOND)],
}
WITHIN = {"bytes and a place": [("x/0", "1234"), ("x/1", OTHER), ("x/0", SECOND)]}


@pytest.mark.parametrize("singly", [True, False])
@pytest.mark.parametrize(
    ("small", "name"), [*((s, n) for s in (0, 1 << 20) for n in TWICE), *((1 << 20, n) for n in WITHIN)]
)
def test_two_references_for_a_chunk_are_refused_however_it_is_asked_for(
    small: int, name: str, singly: bool, tmp_path: Path
) -> None:
    """One chunk alone, which is looked up in the text, and all of them, for which it is parsed."""
    zarray = {"zarr_format": 2, "shape": [2], "chunks": [1], "dtype": "<i4", "compressor": None, "filters": None}
    document = json.dumps(json.dumps({**zarray, "fill_value": 0, "order": "C"}))
    rows = [f'"{key}":{json.dumps(value)}' for key, value in (TWICE | WITHIN)[name]]
    path = tmp_path / "m.json"
    path.write_text("{" + ",".join([f'"x/.zarray":{document}', *rows]) + "}")
    node: Any = read_references(path, options=MapReadOptions(small_text=small))
    manifest = node.arrays["x"].manifest
    with pytest.raises(InvalidMetadata, match="two references"):
        reference_at(manifest, (0,)) if singly else manifest.load()
