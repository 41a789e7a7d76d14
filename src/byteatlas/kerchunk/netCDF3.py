"""``kerchunk.netCDF3``: references to one netCDF-3 file (CDF-1, CDF-2 and CDF-5)."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import handed_out
from byteatlas.kerchunk.single import scanned_references
from byteatlas.scanning.contract import ScanOptions


class NetCDF3ToZarr:
    """References to one file, with kerchunk's arguments.

    Args:
        filename: a path or URL, or an open binary file.
        inline_threshold: bytes; shorter chunks are kept in the references.
        max_chunk_size: bytes; larger uncompressed data are presented as chunks of about this size. 0 = 4 MiB.
        out: a mapping that is filled and returned instead of a new dict.
    """

    def __init__(
        self,
        filename: Any,
        storage_options: Mapping[str, Any] | None = None,
        inline_threshold: float | None = 100,
        max_chunk_size: int = 0,
        out: MutableMapping[str, Any] | None = None,
        **misspelt: object,
    ) -> None:
        refuse(misspelt, NetCDF3ToZarr.__init__)
        self._file, self._storage, self._below, self._out = filename, storage_options, inline_threshold or 0, out
        self._options = ScanOptions(target_chunk=max_chunk_size) if max_chunk_size else ScanOptions()

    def translate(self) -> Any:
        """The references, of version 1."""
        refs = scanned_references(self._file, "netcdf3", self._storage, self._below, self._options)
        return handed_out(refs, self._out)


netcdf_recording_file = NetCDF3ToZarr
"""kerchunk's older name."""
