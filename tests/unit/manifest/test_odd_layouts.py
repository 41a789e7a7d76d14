"""Large texts in a layout for which the quick scan gives up are read entry by entry, with the same result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.json.text.reader import Reader
from byteatlas.manifest.json.text.tokens import Irregular, scan_object
from byteatlas.types import JSON


class Kept:
    """Entries as they come."""

    def __init__(self) -> None:
        self.found: dict[str, JSON] = {}
        self.quick = 0

    def lists(self, entries: Any) -> None:
        self.quick += 1

    def text(self, key: str, raw: bytes) -> None:
        self.quick += 1

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        self.found[key] = value


def odd(count: int) -> bytes:
    """Entries with white space where nobody writes any."""
    return ("{" + " , ".join(f'"x/{i}" : [ "a.bin" , {i} , 7 ]' for i in range(count)) + "}").encode()


def scanned(text: bytes, patience: int) -> Kept:
    sink = Kept()
    end = scan_object(Reader(MemorySource(text, "memory://m"), "m"), 0, sink, patience=patience)
    assert end == len(text)
    return sink


@pytest.mark.parametrize(
    ("count", "patience", "gives_up"), [(64, 64, False), (65, 64, False), (66, 64, True), (9, 3, True)]
)
def test_patience(count: int, patience: int, gives_up: bool) -> None:
    """One more entry than there is patience for, and it is not the last one."""
    text = odd(count)
    if gives_up:
        with pytest.raises(Irregular):
            scanned(text, patience)
    else:
        assert scanned(text, patience).found == json.loads(text)


def test_endless_patience() -> None:
    text = odd(300)
    found = scanned(text, 1 << 62)
    assert found.found == json.loads(text)
    assert found.quick == 0
