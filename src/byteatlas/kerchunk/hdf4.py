"""``kerchunk.hdf4``: references to one HDF4 file."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import handed_out
from byteatlas.kerchunk.single import scanned_references


class HDF4ToZarr:
    """References to one file, with kerchunk's arguments."""

    def __init__(
        self,
        path: Any,
        storage_options: Mapping[str, Any] | None = None,
        inline_threshold: float | None = 100,
        out: MutableMapping[str, Any] | None = None,
        **misspelt: object,
    ) -> None:
        refuse(misspelt, HDF4ToZarr.__init__)
        self._file, self._storage, self._below, self._out = path, storage_options, inline_threshold or 0, out

    def translate(self, filename: str | None = None, storage_options: Mapping[str, Any] | None = None) -> Any:
        """The references, of version 1; written as JSON as well where ``filename`` says."""
        found = handed_out(scanned_references(self._file, "hdf4", self._storage, self._below), self._out)
        if filename is not None:
            import fsspec

            with fsspec.open(filename, "wt", **dict(storage_options or {})) as file:
                json.dump(found, file)
        return found
