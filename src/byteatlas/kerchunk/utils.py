"""``kerchunk.utils``: what scripts do with references as dicts."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from byteatlas.api.indexing import load
from byteatlas.api.kerchunk import group_of
from byteatlas.api.reading import reader
from byteatlas.errors import BadRequest, Unsupported, unknown
from byteatlas.io.access import DEFAULT
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import (
    RefDict,
    access_to,
    bytes_of,
    flat,
    one_chunk,
    text_of,
    with_protocol,
    written,
)
from byteatlas.kerchunk.subchunks import subchunk
from byteatlas.manifest.model import SourceInfo, VirtualArray
from byteatlas.manifest.ops.archive import Archives, split_member
from byteatlas.types import ByteRange


def refs_as_fs(
    refs: Any,
    fs: Any = None,
    remote_protocol: str | None = None,
    remote_options: Mapping[str, Any] | None = None,
    asynchronous: bool = True,
    **more: Any,
) -> Any:
    """fsspec's file system of references."""
    import fsspec

    options = {**(remote_options or {}), "asynchronous": asynchronous}
    if fs is not None:
        fs.asynchronous = asynchronous
    return fsspec.filesystem(
        "reference", fo=refs, fs=fs, remote_protocol=remote_protocol, remote_options=options,
        asynchronous=asynchronous, **more,
    )  # fmt: skip


def fs_as_store(fs: Any, read_only: bool = False) -> Any:
    """zarr-python's store of an fsspec file system."""
    import zarr.storage
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    if not fs.async_impl:
        fs = AsyncFileSystemWrapper(fs)
    fs.asynchronous = True
    return zarr.storage.FsspecStore(fs, read_only=read_only)


def refs_as_store(
    refs: Any,
    read_only: bool = False,
    fs: Any = None,
    remote_protocol: str | None = None,
    remote_options: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """zarr-python's store of references."""
    found = refs_as_fs(refs, fs=fs, remote_protocol=remote_protocol, remote_options=remote_options, **more)
    return fs_as_store(found, read_only=read_only)


def class_factory(func: Callable[..., Any]) -> type:
    """A class with ``translate()`` over a function that scans one file."""

    class Wrapper:
        __doc__ = func.__doc__

        def __init__(
            self,
            url: Any,
            storage_options: Mapping[str, Any] | None = None,
            inline_threshold: float = 100,
            **kwargs: Any,
        ) -> None:
            self.url, self.storage_options, self.inline = url, storage_options, inline_threshold
            self.kwargs = kwargs

        def translate(self) -> Any:
            return func(
                self.url, inline_threshold=self.inline, storage_options=self.storage_options, **self.kwargs
            )  # fmt: skip

        def __repr__(self) -> str:
            return f"<translates one file with {func.__module__}.{func.__qualname__}>"

    return Wrapper


def dict_to_store(store_dict: dict[str, Any]) -> Any:
    """zarr-python's store in memory over a dict, which it changes."""
    import zarr.storage

    return zarr.storage.MemoryStore(read_only=False, store_dict=store_dict)


def translate_refs_serializable(refs: dict[str, Any]) -> dict[str, Any]:
    """The same dict, in which zarr-python's buffers became bytes, under keys without a slash at their beginning."""
    buffers = {key: value for key, value in refs.items() if hasattr(value, "to_bytes") and not isinstance(value, int)}
    for key, value in buffers.items():
        del refs[key]
        refs[key.removeprefix("/")] = value.to_bytes()
    return refs


def consolidate(refs: Mapping[str, Any]) -> dict[str, Any]:
    """References of version 1 that JSON can say: bytes become text, or ``base64:`` and text."""
    return {"version": 1, "refs": {key: text_of(value) for key, value in refs.items()}}


def rename_target(refs: Mapping[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    """References with other URLs: old URL -> new one, each as a whole."""
    if not isinstance(renames, Mapping) or not all(isinstance(text, str) for pair in renames.items() for text in pair):
        raise BadRequest("renames is a dict from old URLs to new ones")
    out = {
        k: [renames[v[0]], *v[1:]] if isinstance(v, list) and v[0] in renames else v for k, v in flat(refs).items()
    }  # fmt: skip
    return {"version": 1, "refs": out}


def rename_target_files(
    url_in: str,
    renames: Mapping[str, str],
    url_out: str | None = None,
    storage_options_in: Mapping[str, Any] | None = None,
    storage_options_out: Mapping[str, Any] | None = None,
    **misspelt: object,
) -> None:
    """`rename_target` from one JSON file to another; ``url_out`` None: to the same, which is an order to change it."""
    import fsspec

    refuse(misspelt, rename_target_files)
    with fsspec.open(url_in, "rb", **dict(storage_options_in or {})) as file:
        old = json.load(file)
    text = json.dumps(rename_target(old, renames), separators=(",", ":"))
    options = storage_options_in if storage_options_out is None else storage_options_out
    with fsspec.open(url_out or url_in, "wt", **dict(options or {})) as file:
        file.write(text)


def do_inline(
    store: Mapping[str, Any],
    threshold: float,
    remote_options: Mapping[str, Any] | None = None,
    remote_protocol: str | None = None,
) -> RefDict:
    """References (version 0) in which chunks shorter than ``threshold`` bytes are bytes."""
    inner = store["refs"] if isinstance(store.get("refs"), Mapping) and "version" in store else store
    out = dict(inner)
    wanted: dict[str, list[tuple[str, ByteRange]]] = {}
    for key, value in with_protocol(out, remote_protocol).items():
        if isinstance(value, list) and len(value) == 3 and value[2] < threshold:
            wanted.setdefault(value[0], []).append((key, ByteRange(value[1], value[2])))
    access = access_to(remote_options)
    for url, items in wanted.items():
        found = access.open(url).read([where for _, where in items])
        out.update({key: bytes(data) for (key, _), data in zip(items, found, strict=True)})
    return out


def inline_array(
    store: Mapping[str, Any],
    threshold: float = 1000,
    names: list[str] | None = None,
    remote_options: Mapping[str, Any] | None = None,
) -> RefDict:
    """References (version 0) in which small arrays are one chunk, which is there as bytes.

    Args:
        threshold: bytes; arrays of fewer. 0: none.
        names: paths (with dots or slashes) of arrays that are taken whatever their size.
    """
    out = dict(store["refs"] if isinstance(store.get("refs"), Mapping) and "version" in store else store)
    tree = group_of(load(flat(store), access=access_to(remote_options)))
    arrays = {path: node for path, node in tree.walk() if isinstance(node, VirtualArray)}
    wanted = {name.replace(".", "/") if name not in arrays else name for name in names or ()}
    for name in wanted - arrays.keys():
        raise unknown("array", name, arrays)
    read = reader(tree.access or DEFAULT)
    for path, array in arrays.items():
        size = np.dtype(array.meta.data_type.numpy).itemsize * math.prod(array.meta.shape)
        if path not in wanted and not size < threshold:
            continue
        made = one_chunk(read(array), array, {})
        for key in [k for k in out if k.startswith(f"{path}/") and not k.endswith(".zattrs")]:
            del out[key]
        found = {k: v for k, v in written(made).items() if k != ".zattrs"}
        out.update({f"{path}/{k}": v if k.startswith(".") else bytes_of(v) for k, v in found.items()})
    return out


def dereference_archives(
    references: Mapping[str, Any], remote_options: Mapping[str, Any] | None = None
) -> RefDict:  # fmt: skip
    """References (version 0) to members of ZIP and tar archives as ranges of the archives.

    A compressed member has no such range: its references stay as they are, with a warning.
    """
    archives = Archives(access_to(remote_options).pool())
    out = dict(references["refs"] if isinstance(references.get("refs"), Mapping) else references)
    for key, value in out.items():
        parts = split_member(value[0]) if isinstance(value, list) and isinstance(value[0], str) else None
        if parts is None:
            continue
        try:
            where = archives.locate(parts[0], parts[1], SourceInfo(parts[2]))
        except Unsupported as error:
            warnings.warn(f"{key} stays as it is: {error}", UserWarning, stacklevel=2)
            continue
        begin, length = value[1:] if len(value) == 3 else (0, where.length)
        if begin + length > where.length:
            raise BadRequest(f"{key} reaches beyond the member {parts[1]!r} of {parts[2]}")
        out[key] = [parts[2], where.offset + begin, length]
    return out


def templateize(
    strings: list[str], min_length: int = 10, template_name: str = "u"
) -> tuple[dict[str, str], list[str]]:  # fmt: skip
    """The strings' common beginning as a template, and the strings with it: ``s.format(**templates)`` undoes it."""
    first, last = min(strings, default=""), max(strings, default="")
    prefix = first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
    if len(prefix) < min_length:
        return {}, strings
    return {template_name: prefix}, ["{" + template_name + "}" + s[len(prefix) :] for s in strings]


__all__ = [
    "class_factory",
    "consolidate",
    "dereference_archives",
    "dict_to_store",
    "do_inline",
    "fs_as_store",
    "inline_array",
    "refs_as_fs",
    "refs_as_store",
    "rename_target",
    "rename_target_files",
    "subchunk",
    "templateize",
    "translate_refs_serializable",
]
