"""The text of a large map, which is never parsed whole: scanned once for its structure, then searched."""

from __future__ import annotations

import json

from byteatlas.io.source import Source
from byteatlas.manifest.json.text.reader import Reader, unescape
from byteatlas.manifest.json.text.structure import DocumentSink, TextParts, compact_text, map_structure
from byteatlas.manifest.json.text.tokens import EntrySink, Irregular, scan_object
from byteatlas.types import JSON, ByteRange

NEAR = 1 << 16
"""How far from a key a second one is looked for: all of a large text would take longer than reading one chunk may."""


def _spelled(key: str) -> list[bytes]:
    """A key as it may stand in a text, with its quotes."""
    ways = dict.fromkeys((key, key.replace("/", "\\/")))
    return [b'"' + json.dumps(k, ensure_ascii=False).encode()[1:-1].replace(b"\\\\/", b"\\/") + b'"' for k in ways]


class SearchedText:
    """Where the parts of a text lie. Only its metadata documents are held."""

    def __init__(self, source: Source, where: str, body: TextParts, index: DocumentSink) -> None:
        self._source, self._where, self._body = source, where, body
        self._body.inner = index.nested
        self._marks, self._documents, self._texts = index.marks, index.documents, index.texts

    @classmethod
    def of(cls, source: Source, where: str) -> SearchedText:
        """Raises `InvalidMetadata`: the text is not a map."""
        index = DocumentSink(where)
        try:
            return cls(source, where, map_structure(Reader(source, where), index), index)
        except Irregular:
            source, _ = compact_text(source, where)
            index = DocumentSink(where)
            return cls(source, where, map_structure(Reader(source, where), index, patience=1 << 62), index)

    @property
    def top(self) -> dict[str, JSON]:
        """The members beside the references."""
        return self._body.top

    def documents(self) -> dict[str, JSON]:
        """Metadata by key."""
        return self._documents

    def feed(self, sink: EntrySink) -> None:
        """Tell ``sink`` of all entries."""
        scan_object(Reader(self._source, self._where), self._body.begin, sink, patience=1 << 62)

    def find(self, key: str, prefix: str) -> tuple[JSON, bool]:
        """The value of a key and True; None and False when the search cannot tell that it is missing.

        Where keys with ``prefix`` stand is searched first.
        """
        known = self._texts.get(key)
        if known is not None:
            return unescape(known, self._where) if isinstance(known, bytes) else known, True
        reader = Reader(self._source, self._where)
        likely = self._stretches(prefix.encode())
        for needle in _spelled(key):
            for begin, end in likely:
                at = self._search(reader, needle, begin, end)
                if at >= 0 and self._stands_twice(reader, key, at):
                    return None, False  # whoever reads all of it refuses the map
                if at >= 0:
                    colon = reader.skip(at + len(needle))
                    return reader.value(reader.skip(colon + 1))[0], True
        return None, False

    def _stands_twice(self, reader: Reader, key: str, at: int) -> bool:
        """Whether a key that was found stands in the text near it once more."""
        begin, end = max(self._body.begin, at - NEAR), min(self._body.end, at + NEAR)
        for needle in _spelled(key):
            found = self._search(reader, needle, begin, end)
            if found == at:
                found = self._search(reader, needle, at + len(needle), end)
            if found >= 0:
                return True
        return False

    def _stretches(self, prefix: bytes) -> list[tuple[int, int]]:
        """The text in stretches, those first where keys with this prefix stand."""
        edges = [self._body.begin, *(at for at, _ in self._marks), self._body.end]
        named = [False, *(key.startswith(prefix) for _, key in self._marks), False]
        likely: list[tuple[int, int]] = []
        rest: list[tuple[int, int]] = []
        for i in range(len(edges) - 1):
            (likely if named[i] or named[i + 1] else rest).append((edges[i], edges[i + 1]))
        return likely + rest

    def _search(self, reader: Reader, needle: bytes, begin: int, end: int) -> int:
        at, window = begin, 1 << 20
        while at < end:
            length = min(window + len(needle), end + len(needle) - at, self._body.end - at)
            reader.move(at, length)
            found = reader.data.find(needle)
            while found >= 0:
                if self._is_key(reader, at + found, len(needle)):
                    return at + found
                if reader.base != at:
                    reader.move(at, length)
                found = reader.data.find(needle, found + 1)
            at += window
            window = min(window * 2, 8 << 20)
        return -1

    def _is_key(self, reader: Reader, place: int, length: int) -> bool:
        """Whether the quoted text here is a key of the references' object itself."""
        if any(a <= place < b for a, b in self._body.inner):
            return False
        if reader.byte(reader.skip(place + length)) != ord(":"):
            return False
        before = place - 1
        while before > self._body.begin and reader.source.read([ByteRange(before, 1)])[0][0] in b" \t\r\n":
            before -= 1
        return bytes(reader.source.read([ByteRange(before, 1)])[0]) in (b",", b"{")
