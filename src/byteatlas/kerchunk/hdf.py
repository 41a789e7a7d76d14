"""``kerchunk.hdf``: references to one HDF5 or netCDF-4 file."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any

from byteatlas.api.indexing import scan
from byteatlas.api.targets import place_of
from byteatlas.errors import BadRequest, Unsupported, unknown_text
from byteatlas.io.access import Access
from byteatlas.io.local import absolute
from byteatlas.kerchunk.arguments import ErrorPolicy, on_refusal, refuse
from byteatlas.kerchunk.references import access_to, decoded, handed_out, written
from byteatlas.scanning.contract import ScanOptions

Hdf5FeatureNotSupported = Unsupported
"""What scripts catch."""
VLEN = ("embed", "encode", "null", "leave")


class SingleHdf5ToZarr:
    """References to the chunks of one file, with kerchunk's arguments.

    Args:
        h5f: a path or URL, an open binary file, or an ``h5py`` file or group (then ``url`` says where it lies).
        url: what references say. None with an open file: ``[null, offset, length]``.
        spec: version of the references, 0 or 1.
        inline_threshold: bytes; shorter chunks are kept in the references. 0: none.
        storage_options: how the file is reached, as fsspec takes them.
        error: what happens to datasets that cannot be represented. ``pdb`` raises.
        vlen_encode: ``embed`` keeps texts in the references, and so does ``encode``. ``null`` and ``leave``, which give
            other values than the file's, are refused.
        out: a mapping that is filled and returned instead of a new dict: fsspec's ``LazyReferenceMapper``, say.
        unsupported_inline_threshold: bytes; arrays with shorter chunks whose codecs only this library has are decoded
            and kept in the references. None = ``inline_threshold``.
    """

    def __init__(
        self,
        h5f: Any,
        url: str | None = None,
        spec: int = 1,
        inline_threshold: float | None = 500,
        storage_options: Mapping[str, Any] | None = None,
        error: ErrorPolicy = "warn",
        vlen_encode: str = "embed",
        out: MutableMapping[str, Any] | None = None,
        unsupported_inline_threshold: float | None = None,
        **misspelt: object,
    ) -> None:
        refuse(misspelt, SingleHdf5ToZarr.__init__)
        if vlen_encode not in VLEN:
            raise BadRequest(unknown_text("vlen_encode", str(vlen_encode), VLEN[:2]))
        if vlen_encode in ("null", "leave"):
            raise BadRequest(f"vlen_encode={vlen_encode!r} gives other values than the file's; take 'embed'")
        self._file, self._group = _file_of(h5f, url)
        self._url = os.fspath(h5f) if isinstance(h5f, (str, os.PathLike)) else url
        self._spec, self._on_refusal, self._out = spec, on_refusal(error), out
        self._below = inline_threshold or 0
        self._decode = self._below if unsupported_inline_threshold is None else unsupported_inline_threshold
        self._access: Access = access_to(storage_options)

    def translate(self, preserve_linked_dsets: bool = True) -> Any:
        """The references. Links to datasets are always followed."""
        name = absolute(place_of(self._file, self._access)[0])
        options = ScanOptions(group=self._group)
        found = scan(self._file, format="hdf5", on_refusal=self._on_refusal, options=options, access=self._access)
        refs = written(decoded(found, self._decode), self._below, {name: self._url})
        return handed_out(refs, self._out, self._spec)

    def close(self) -> None:
        """Nothing is kept open; for scripts that call it."""


def _file_of(h5f: Any, url: str | None) -> tuple[Any, str | None]:
    """What is scanned, and the group in it."""
    if isinstance(h5f, (str, os.PathLike)) or hasattr(h5f, "read"):
        return h5f, None
    if not hasattr(h5f, "visititems"):
        raise BadRequest(f"h5f is {type(h5f).__name__}; a path, an open file or an h5py group was expected")
    group = str(h5f.name).strip("/") or None
    return (url or h5f.file.filename), group


def has_visititems_links() -> bool:
    """Whether h5py walks links as well (3.12 and later do); nothing here depends on it."""
    import h5py

    return hasattr(h5py.Group, "visititems_links")
