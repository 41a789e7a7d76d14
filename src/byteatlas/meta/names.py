"""Which names a node of a hierarchy may have."""

from __future__ import annotations

DOCUMENTS = frozenset({".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json"})
"""Names of metadata documents, which stand among the nodes (v2 and v3 core specifications)."""


def legal_name(name: str) -> bool:
    r"""Whether a node may have this name in a Zarr hierarchy: the one rule of scanners, stores and object models.

    Zarr v3 core, "Node names": not empty, no slash, not only periods. Names that begin with ``__`` are reserved there
    but common in archives and stores (``__categories``, xarray's ``__xarray_dataarray_variable__``): they are allowed.

    Half characters (lone surrogates) have no UTF-8 form, so no store could keep them.

    >>> [legal_name(n) for n in ("air", "...", "a/b", ".zarray", "__index", "\ud800")]
    [True, False, False, False, True, False]
    """
    return bool(name.strip(".")) and "/" not in name and "\0" not in name and name not in DOCUMENTS and _whole(name)


def text_of(name: bytes) -> str:
    """A name as HDF5 and its kin store it. Names are UTF-8; what is not keeps its bytes as Latin-1 (h5py has
    surrogates there, which Zarr cannot hold)."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


def _whole(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)
