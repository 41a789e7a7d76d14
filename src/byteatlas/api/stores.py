"""New arrays and groups in Zarr stores: `create_array`, `create_group`, `open_writable`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from byteatlas.api.targets import check_zarr_format, expect
from byteatlas.arguments import VERBS, accept, wrong
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.array.writing.options import ArrayWriteOptions
    from byteatlas.array.writing.writable import WritableArray
    from byteatlas.meta.model import ArrayMeta
    from byteatlas.store.base import WritableStore
    from byteatlas.store.write import WriteTarget


def create_array(
    target: WriteTarget,
    path: str,
    meta: ArrayMeta,
    *,
    options: ArrayWriteOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> WritableArray:
    """Create an array that holds its fill value, and the groups above it that do not exist yet.

    Args:
        target: a folder, any fsspec URL that can be written to, a mapping, or a store; not a ZIP file (see `copy`).
        meta: what `array_meta` gives.
        access: how the target may be reached; ``storage_options`` is short for one.

    Raises:
        Conflict: there is a node at this path, or an array above it.
        Unsupported: the metadata cannot be written, or a codec cannot encode.

    >>> array = ba.create_array("new.zarr", "counts", ba.array_meta((4, 3), "i2", chunks=(2, 3)))
    >>> array[1] = 7
    >>> array[:2]
    array([[0, 0, 0],
           [7, 7, 7]], dtype=int16)
    """
    accept(VERBS, path=path)
    from byteatlas.array.writing.options import ArrayWriteOptions
    from byteatlas.array.writing.write import create_array as create
    from byteatlas.meta.model import ArrayMeta

    expect(options, ArrayWriteOptions, "options")
    if not isinstance(meta, ArrayMeta):
        raise wrong("meta", meta, "what array_meta gives")

    return create(_store(target, access, storage_options), path, meta, write=options or ArrayWriteOptions())


def create_group(
    target: WriteTarget,
    path: str = "",
    *,
    attributes: Mapping[str, JSON] | None = None,
    zarr_format: Literal[2, 3] = 3,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> None:
    """Create a group, and the groups above it that do not exist yet. Targets are those of `create_array`.

    Raises `Conflict` when there is a node.

    >>> _ = ba.create_group("tree.zarr", "model/run")
    >>> print(ba.open("tree.zarr").tree())
    /
      model/
        run/
    """
    accept(VERBS, path=path, attributes=attributes)
    from byteatlas.array.writing.write import create_group as create

    check_zarr_format(zarr_format)
    create(_store(target, access, storage_options), path, attributes=attributes, zarr_format=zarr_format)


def open_writable(
    target: WriteTarget,
    path: str = "",
    *,
    options: ArrayWriteOptions | None = None,
    access: Access | None = None,
    storage_options: Mapping[str, JSON] | None = None,
) -> WritableArray:
    """An existing array for writing: ``array[0:10] = values``. Targets are those of `create_array`.

    Raises `NotFound` when there is none, `BadRequest` for a group.

    >>> _ = ba.copy("jan.nc", "mine.zarr")
    >>> air = ba.open_writable("mine.zarr", "air")
    >>> air[0] = 0.0
    >>> float(air[0].max())
    0.0
    """
    accept(VERBS, path=path)
    from byteatlas.array.writing.options import ArrayWriteOptions
    from byteatlas.array.writing.write import open_writable as open_array

    expect(options, ArrayWriteOptions, "options")

    return open_array(_store(target, access, storage_options), path, write=options or ArrayWriteOptions())


def _store(target: WriteTarget, access: Access | None, storage_options: Mapping[str, JSON] | None) -> WritableStore:
    from byteatlas.store.write import writable

    if isinstance(target, (str, os.PathLike)) and os.fspath(target).rstrip("/").endswith(".zip"):
        raise BadRequest(f"{os.fspath(target)}: a ZIP file is written as a whole; write a folder, and copy it")
    with writable(target, Access.of(access, storage_options)) as store:
        return store
