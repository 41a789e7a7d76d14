"""Parquet maps that are written over where folders cannot change names: readers find the old map or the new one.

Part files have fixed names, so some would be new and others old while a map is written. Each part that takes the place
of another has a mark, in its file's metadata; ``.zmetadata`` says which mark each part must have::

    "byteatlas": {"sources": [...], "parts": {"x/refs.0.parq": "0123456789ab"}}

New parts are put beside the old ones (``x/refs.0.0123456789ab.parq``). Then ``.zmetadata`` is put: from now on the new
map counts. Then the parts get their own names, which other readers know, and what lay beside them is removed. A part of
another mark than expected is never read: its right one lies beside it, or the map was written again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from byteatlas.errors import InvalidMetadata
from byteatlas.io.access import Access
from byteatlas.io.local import local_path
from byteatlas.io.output import Folder, new_folder
from byteatlas.io.writing.remote import RemoteFolder
from byteatlas.io.writing.versions import FileVersion, Overtaken
from byteatlas.manifest.targets import object_there
from byteatlas.types import JSON, Buffer

KEY = b"byteatlas:mark"
"""Of a Parquet file's metadata."""
DOCUMENT = ".zmetadata"
KEPT, MOST_KEPT = 1 << 20, 64 << 20
"""Bytes of a part that is kept in memory until it has its name, and of all of them; others are read again."""


def marks_of(whole: Mapping[str, JSON], where: str) -> dict[str, str]:
    """The marks that a map's parts must have, by name; none for most. Raises `InvalidMetadata` for other things."""
    own = whole.get("byteatlas")
    found = own.get("parts", {}) if isinstance(own, Mapping) else {}
    if not isinstance(found, Mapping):
        raise InvalidMetadata(f"{where}: byteatlas", "the marks of parts are no object")
    marks: dict[str, str] = {}
    for name, mark in found.items():
        if not isinstance(mark, str) or not re.fullmatch("[0-9a-f]{12}", mark):
            raise InvalidMetadata(f"{where}: byteatlas", f"not the mark of a part: {mark!r}"[:200])
        marks[name] = mark
    return marks


def beside(name: str, mark: str) -> str:
    """Where a part lies until it has its own name.

    >>> beside("x/refs.0.parq", "0123456789ab")
    'x/refs.0.0123456789ab.parq'
    """
    return f"{name.removesuffix('.parq')}.{mark}.parq"


def own_entry(sources: JSON, old: Mapping[str, str], names: Sequence[str], mark: str) -> dict[str, JSON]:
    """What ``.zmetadata`` says beside the metadata, after these parts were written; ``sources`` may be None."""
    parts: dict[str, JSON] = {name: m for name, m in old.items() if name not in set(names)}
    parts |= dict.fromkeys(names, mark) if mark else {}
    if not parts:
        return {} if sources is None else {"byteatlas": {"sources": sources}}
    return {"byteatlas": {"sources": sources or [], "parts": parts}}


@contextmanager
def map_folder(
    url: str, access: Access, *, keep: bool = False, renew: Callable[[], None] = lambda: None
) -> Iterator[Folder]:
    """The folder of a map to be written; ``.zmetadata`` must come last. See `byteatlas.io.output.new_folder`.

    Args:
        renew: called before a part gets its name (see `byteatlas.io.writing.leases`).
    """
    with new_folder(url, access.storage_options, keep=keep) as folder:
        if not isinstance(folder, RemoteFolder) or object_there(f"{url}/{DOCUMENT}", access) is None:
            yield folder
            return
        parts = MarkedParts(url, access, folder, renew)
        try:
            yield parts
        except BaseException:
            parts.abandon()
            raise


class MarkedParts:
    """Puts parts beside those of a map that is there, until ``.zmetadata`` is put."""

    def __init__(self, url: str, access: Access, folder: RemoteFolder, renew: Callable[[], None]) -> None:
        assert local_path(url) is None
        self._url, self._access, self._folder, self._renew = url, access, folder, renew
        self.mark = os.urandom(6).hex()
        self._names: list[str] = []
        self._kept: dict[str, Buffer] = {}
        self._room = MOST_KEPT
        self._may_count = False

    def put(self, name: str, data: Buffer, version: FileVersion | None = None) -> None:
        """A part; or ``.zmetadata``, which makes the parts so far count.

        Raises `Overtaken` when ``.zmetadata`` is in another state than ``version``.
        """
        if name == DOCUMENT:
            self._commit(data, version)
            return
        self._names.append(name)
        self._folder.put(beside(name, self.mark), data)
        size = memoryview(data).nbytes
        if size <= min(KEPT, self._room):
            self._kept[name] = data
            self._room -= size

    def _commit(self, document: Buffer, version: FileVersion | None) -> None:
        self._may_count = True  # also where the answer gets lost
        try:
            self._folder.put(DOCUMENT, document, version)
        except Overtaken:
            self._may_count = False
            raise
        with suppress(Overtaken):  # who took over reads the parts where they lie
            for name in self._names:
                self._renew()
                self._settle(name)

    def _settle(self, name: str) -> None:
        """Give a part its own name."""
        lies = beside(name, self.mark)
        data = self._kept.pop(name, None)
        if data is None:
            data = self._access.open(f"{self._url}/{lies}").read_all()
        self._folder.put(name, data)
        self._folder.remove(lies)

    def abandon(self) -> None:
        """Remove what was put, if nobody can need it."""
        for name in () if self._may_count else self._names:
            self._folder.remove(beside(name, self.mark))
