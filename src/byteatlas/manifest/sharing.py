"""Maps that are read one after the other, to become one: what their texts have in common is parsed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

MOST = 1 << 12
"""Documents that are remembered: more are the sign of maps that have little in common."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedDocuments:
    """Metadata documents by their text, and the metadata of arrays by their documents. For one combination: it keeps
    what it saw. Documents are not changed once they are parsed.

    Attributes:
        layouts: what the keys of the map that was read last say, for the reader of its form.
    """

    documents: dict[str, JSON] = field(default_factory=dict)
    layouts: dict[str, object] = field(default_factory=dict)
    metas: dict[tuple[int, int], tuple[Mapping[str, JSON], Mapping[str, JSON], ArrayMeta]] = field(default_factory=dict)

    def document(self, value: JSON, where: str, parse: Callable[[JSON, str], JSON]) -> JSON:
        """What ``parse`` makes of a document, or made of the same text."""
        if not isinstance(value, str):
            return parse(value, where)
        found = self.documents.get(value)
        if found is None:
            found = parse(value, where)
            if len(self.documents) < MOST:
                self.documents[value] = found
        return found

    def meta(self, zarray: Mapping[str, JSON], zattrs: Mapping[str, JSON], parse: Callable[[], ArrayMeta]) -> ArrayMeta:
        """An array's metadata by the very documents (not equal ones) that they are in."""
        key = id(zarray), id(zattrs)
        found = self.metas.get(key)
        if found is not None:
            return found[2]
        meta = parse()
        if len(self.metas) < MOST:
            self.metas[key] = zarray, zattrs, meta  # kept with their documents: an identity may be given away again
        return meta
