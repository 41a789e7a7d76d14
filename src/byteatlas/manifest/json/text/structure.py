"""The parts of a JSON map's text: its top-level members, and where its references and nested objects lie."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from byteatlas.errors import InvalidMetadata
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.json.documents import document
from byteatlas.manifest.json.text.reader import Reader, unescape
from byteatlas.manifest.json.text.tokens import Entries, scan_object
from byteatlas.manifest.sharing import SharedDocuments
from byteatlas.manifest.tree import DOCUMENTS, is_document
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

TOP_MEMBERS = frozenset({"version", "refs", "templates", "gen", "byteatlas"})


@dataclass(slots=True)
class TextParts:
    """The parts of the map's text. ``begin`` and ``end`` enclose the references' object."""

    begin: int
    end: int = 0
    top: dict[str, JSON] = field(default_factory=dict)
    inner: list[tuple[int, int]] = field(default_factory=list)


MOST_TEXTS = 1 << 20
"""Bytes of values in the map itself (small coordinates, as a rule) that are kept: finding one anew reads the text."""


LAST = frozenset(name[-1] for name in (*DOCUMENTS, ".zmetadata"))
"""The last letters of names of metadata documents; chunks end with digits, nearly always."""
IS_LAST = np.isin(np.arange(256), [ord(letter) for letter in LAST])
IS_LAST.flags.writeable = False


class DocumentSink:
    """Keeps the metadata documents, and values in the map as far as they are small and few; remembers which stretches
    are nested objects."""

    def __init__(self, where: str, shared: SharedDocuments | None = None) -> None:
        self.where, self._shared = where, shared or SharedDocuments()
        self.documents: dict[str, JSON] = {}
        self.has_version = False  # among the references, where only the members of another form have it
        self.nested: list[tuple[int, int]] = []
        self.marks: list[tuple[int, bytes]] = []
        self.texts: dict[str, bytes | str] = {}
        """As raw JSON where they are bytes."""
        self._room = MOST_TEXTS

    def lists(self, entries: Entries) -> None:
        """Remember the first key of each batch: it tells where an array's chunks stand."""
        for i in np.flatnonzero(IS_LAST[entries.view[entries.key_end - 1]]).tolist():
            self.reference(unescape(entries.data[entries.key[i] : entries.key_end[i]], self.where))
        begin = int(entries.key[0])
        self.marks.append((entries.base + begin, entries.data[begin : int(entries.key_end[0])].replace(b"\\/", b"/")))

    def reference(self, key: str) -> None:
        """Raise `InvalidMetadata` for metadata that lie elsewhere: without them an array would be missing unseen."""
        if is_document(key) or key == ".zmetadata":
            raise InvalidMetadata(f"{self.where}: {key}", "metadata must be text or an object, not a reference")

    def text(self, key: str, raw: bytes) -> None:
        if is_document(key) or key == ".zmetadata":
            self._put(key, unescape(raw, self.where))
        else:
            self._keep(key, raw)

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        self.has_version |= key == "version"
        if isinstance(value, Mapping):
            self.nested.append((begin, end))
        if is_document(key) or key == ".zmetadata":
            self._put(key, value)
        elif isinstance(value, str):
            self._keep(key, value)

    def _keep(self, key: str, value: bytes | str) -> None:
        room = self._room - len(value) - 100
        if room >= 0:
            self._room = room
            self.texts.setdefault(key, value)  # the first of a name counts, as for whoever searches the text

    def _put(self, key: str, value: JSON) -> None:
        if key in self.documents:
            raise InvalidMetadata(self.where, f"two entries {key!r}")
        self.documents[key] = self._shared.document(value, f"{self.where}: {key}", document)


def map_structure(reader: Reader, index: DocumentSink, patience: int = 64) -> TextParts:
    """Scan the text: the top-level members, and the references through ``index``."""
    at = reader.skip(0)
    if reader.data[at - reader.base :].startswith(b"\xef\xbb\xbf"):
        at = reader.skip(at + 3)
    if reader.byte(at) != ord("{"):
        raise reader.fail(at, "a reference map is a JSON object")
    first = reader.skip(at + 1)
    if reader.byte(first) == ord("}"):
        raise reader.fail(first, "the map is empty")
    name, _ = reader.value(first)
    if not isinstance(name, str):
        raise reader.fail(first, "a member was expected")
    if name not in TOP_MEMBERS:
        body = TextParts(at)
        body.end = scan_object(reader, at, index, patience=patience)
        if index.has_version:
            raise reader.fail(at, "version is not the first member")
        _expect_end(reader, body.end)
        return body
    return _versioned(reader, first, index, patience)


def _versioned(reader: Reader, at: int, index: DocumentSink, patience: int) -> TextParts:
    body: TextParts | None = None
    top: dict[str, JSON] = {}
    while True:
        key, end = reader.value(at)
        colon = reader.skip(end)
        if not isinstance(key, str) or reader.byte(colon) != ord(":"):
            raise reader.fail(at, "a member was expected")
        begin = reader.skip(colon + 1)
        if key in top or (key == "refs" and body is not None):
            raise reader.fail(at, f"two members {key!r}")
        if key == "refs":
            body = TextParts(begin)
            end = body.end = scan_object(reader, begin, index, patience=patience)
        else:
            top[key], end = reader.value(begin)
        stop = reader.skip(end)
        if reader.byte(stop) == ord("}"):
            _expect_end(reader, stop + 1)
            break
        if reader.byte(stop) != ord(","):
            raise reader.fail(stop, "',' or '}' was expected")
        at = reader.skip(stop + 1)
    if body is None:
        raise InvalidMetadata(reader.where, "no member 'refs'")
    body.top = top
    return body


def _expect_end(reader: Reader, at: int) -> None:
    if reader.skip(at) < reader.size:
        raise reader.fail(at, "text behind the end of the map")


def compact_text(source: Source, where: str) -> tuple[Source, TextParts]:
    """The same map as compact JSON in memory, for texts in a layout that the fast scan does not know."""

    def pairs(items: list[tuple[str, JSON]]) -> dict[str, JSON]:
        found = dict(items)
        if len(found) != len(items):
            raise InvalidMetadata(where, "a key occurs twice in one object")
        return found

    try:
        value = json.loads(bytes(source.read_all()), strict=False, object_pairs_hook=pairs)
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except RecursionError as error:
        raise InvalidMetadata(where, "nested too deeply") from error
    except ValueError as error:
        raise InvalidMetadata(where, f"not JSON ({error})") from error
    return MemorySource(text, where), TextParts(0)
