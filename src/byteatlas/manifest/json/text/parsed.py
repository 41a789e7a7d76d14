"""The text of a small map, parsed whole: below about a megabyte that costs less than looking for its parts."""

from __future__ import annotations

import json
from collections.abc import Mapping

from byteatlas.errors import SourceChanged
from byteatlas.io.source import Source
from byteatlas.manifest.json.text.structure import LAST, TOP_MEMBERS, DocumentSink
from byteatlas.manifest.json.text.tokens import EntriesSink
from byteatlas.manifest.options import MapReadOptions
from byteatlas.types import JSON
from byteatlas.values import dataclass


class TwoEntries(ValueError):
    """A key stands twice in one object."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A map's references, and the members beside them."""

    references: Mapping[str, JSON]
    top: dict[str, JSON]


class ParsedText:
    """A small text. Only its metadata documents are held: what is parsed takes several times its length."""

    def __init__(self, source: Source, where: str, parts: _Parts, options: MapReadOptions) -> None:
        self._source, self._where, self.top = source, where, parts.top
        self._parts = parts if options.at_once else None
        sink = DocumentSink(where, options.shared)
        for key, value in parts.references.items():
            if type(value) is not list:
                sink.other(key, value, 0, 0)
            elif key[-1:] in LAST:
                sink.reference(key)
        self._documents = sink.documents

    @classmethod
    def of(cls, source: Source, where: str, options: MapReadOptions) -> ParsedText | None:
        """None for a text that is not small, and for one that is not plain.

        Whoever reads that closely says what is wrong with it. Raises `TwoEntries`.
        """
        if source.size() > options.small_text:
            return None
        text = bytes(source.read_all())
        if b"\\u" in text:  # perhaps half of a pair, which is no text
            return None
        try:
            parts = _parts(json.loads(text.decode(), object_pairs_hook=_distinct))
        except TwoEntries:
            raise
        except (ValueError, RecursionError):
            return None
        return None if parts is None else cls(source, where, parts, options)

    def documents(self) -> dict[str, JSON]:
        """Metadata by key."""
        return self._documents

    def feed(self, sink: EntriesSink) -> None:
        """Tell ``sink`` of all entries."""
        sink.parsed(self._again().references)
        self._parts = None

    def find(self, key: str, prefix: str) -> tuple[JSON, bool]:
        """The value of a key and True, or None and False."""
        if self._parts is None:
            self._parts = self._again()
        found = self._parts.references
        return found.get(key), key in found

    def _again(self) -> _Parts:
        if self._parts is not None:
            return self._parts
        try:
            parts = _parts(json.loads(bytes(self._source.read_all())))
        except (ValueError, RecursionError):
            parts = None
        if parts is None:  # it was one: of another text, no chunk may be called missing
            raise SourceChanged(self._where, "the text", "a map", "none", when="opened")
        return parts


def _distinct(items: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(items)
    if len(found) != len(items):
        raise TwoEntries
    return found


def _parts(whole: JSON) -> _Parts | None:
    """None when it is no map. Version 0 has references only, and begins with one."""
    if not isinstance(whole, dict) or not whole:
        return None
    if next(iter(whole)) not in TOP_MEMBERS:
        return None if isinstance(whole.get("version"), int) else _Parts(whole, {})  # which comes first elsewhere
    references = whole.pop("refs", None)
    return _Parts(references, whole) if isinstance(references, dict) else None
