"""``kerchunk.combine``: many reference sets into one."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.api.indexing import load
from byteatlas.api.kerchunk import Process, group_of, multi_zarr
from byteatlas.api.reading import reader
from byteatlas.api.targets import each_of
from byteatlas.api.tree import VirtualTree, tree
from byteatlas.combining import CombineOptions
from byteatlas.errors import BadRequest
from byteatlas.io.access import DEFAULT
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.joining import concatenate_arrays, merge_vars
from byteatlas.kerchunk.references import (
    RefDict,
    access_to,
    flat,
    handed_out,
    opened_json,
    relative_names,
    with_protocol,
    written,
)
from byteatlas.kerchunk.utils import consolidate
from byteatlas.manifest.model import VirtualArray, VirtualGroup


class MultiZarrToZarr:
    """Combine reference sets, with kerchunk's arguments.

    Args:
        path: JSON files or Parquet maps (a list, or one pattern), or references as dicts.
        indicts: references as dicts; ``path`` then only names them, for patterns of ``coo_map``.
        coo_map: where coordinate values come from, as for `byteatlas.multi_zarr`.
        target_options: how ``path`` is reached; ``remote_options`` how the data are, both as fsspec takes them.
        remote_protocol: of URLs that have none.
        inline_threshold: bytes; shorter chunks of the result are kept in it. 0: none.
        preprocess, postprocess: functions of references of version 0.
        out: a mapping that is filled and returned instead of a new dict.
    """

    def __init__(
        self,
        path: Any,
        indicts: Sequence[Mapping[str, Any]] | None = None,
        coo_map: Mapping[str, Any] | None = None,
        concat_dims: str | Iterable[str] | None = None,
        coo_dtypes: Mapping[str, Any] | None = None,
        identical_dims: Sequence[str] | None = None,
        target_options: Mapping[str, Any] | None = None,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, Any] | None = None,
        inline_threshold: float | None = 500,
        preprocess: Process | None = None,
        postprocess: Process | None = None,
        out: MutableMapping[str, Any] | None = None,
        **misspelt: object,
    ) -> None:
        refuse(misspelt, MultiZarrToZarr.__init__)
        if concat_dims is None and not coo_map:
            raise BadRequest("say along which dimensions: concat_dims, or coo_map")
        dims = [concat_dims] if isinstance(concat_dims, str) else list(concat_dims or ())
        self.path, self._indicts = path, indicts
        self.coo_map = {**(coo_map or {}), **{d: _default(d) for d in dims if d not in (coo_map or {})}}
        self.concat_dims = dims or list(self.coo_map)
        self.identical_dims = list(identical_dims or ())
        if both := sorted(set(self.coo_map) & set(self.identical_dims)):
            raise BadRequest(f"{both[0]} is both in coo_map and in identical_dims")
        self.coo_dtypes, self.inline = dict(coo_dtypes or {}), inline_threshold or 0
        self.target_options, self.remote_options = dict(target_options or {}), dict(remote_options or {})
        self.remote_protocol, self.preprocess, self.postprocess = remote_protocol, preprocess, postprocess
        self.out: Any = {} if out is None else out
        self.coos: dict[str, NDArray[Any]] | None = None
        self._given, self._onto = out, None
        self._refs: RefDict | None = None

    @classmethod
    def append(
        cls,
        path: Any,
        original_refs: Any,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, Any] | None = None,
        target_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> MultiZarrToZarr:
        """More inputs behind references that exist: a dict, a JSON file, or a ``LazyReferenceMapper``.

        `translate` gives all of it; of a mapper, which is changed in place, the mapper.
        """
        found = cls(
            path,
            remote_protocol=remote_protocol,
            remote_options=remote_options,
            target_options=target_options,
            **kwargs,
        )
        if hasattr(original_refs, "flush"):
            found._given = found.out = original_refs
        found._onto = original_refs
        return found

    def translate(
        self, filename: str | None = None, storage_options: Mapping[str, Any] | None = None
    ) -> Any:  # fmt: skip
        """The combined references (version 1), or the mapping that was given; also written as JSON to ``filename``."""
        refs = self._combined()
        if self.postprocess is not None:
            refs = dict(self.postprocess(refs))
        if self._given is not None and not isinstance(self._given, dict):
            return handed_out(refs, self._given)
        self.out.update(refs)
        found = consolidate(self.out if self.postprocess is None else refs)
        if filename is not None:
            import fsspec

            with fsspec.open(filename, "wt", **dict(storage_options or {})) as file:
                json.dump(found, file, separators=(",", ":"))
        return found

    def first_pass(self) -> dict[str, NDArray[Any]]:
        """Combine, and give the coordinates of the dimensions; they are in ``coos`` as well."""
        self._combined()
        assert self.coos is not None
        return self.coos

    def store_coords(self) -> None:
        """Put the coordinates and the root's attributes into ``out``."""
        first = {k: v for k, v in self._combined().items() if "/" not in k or k.split("/")[0] in self.coo_map}
        for key in sorted(first):
            self.out[key] = first[key]

    def second_pass(self) -> None:
        """Put the rest into ``out``."""
        for key, value in sorted(self._combined().items()):
            if key.split("/")[0] not in self.coo_map:
                self.out[key] = value

    def _combined(self) -> RefDict:
        """What is combined once, as references of version 0."""
        if self._refs is not None:
            return self._refs
        groups, names, relative = self._inputs()
        onto: dict[str, Any] | None = None
        if self._onto is not None:
            onto = flat(opened_json(self._onto) if isinstance(self._onto, str) else dict(self._onto))
            onto = with_protocol(onto, self.remote_protocol)
        found = multi_zarr(
            groups,
            self.concat_dims,
            self.coo_map,
            out=onto,
            append=onto is not None,
            names=names,
            options=CombineOptions(attributes="first"),
            access=access_to(self.remote_options) if self.remote_options else None,
            coo_dtypes=self.coo_dtypes,
            identical_dims=self.identical_dims,
        )
        self.coos = {name: _coordinate(found, name, set(self.coo_map)) for name in self.coo_map}
        for name, values in self.coos.items():
            if name != "var" and len(groups) > 1 and len(values) < 2 and onto is None:
                warnings.warn(
                    f"Concatenated coordinate {name!r} contains less than expected: {len(values)} values of"
                    f" {len(groups)} inputs",
                    stacklevel=3,
                )
        self._refs = written(found, self.inline, relative)
        return self._refs

    def _inputs(self) -> tuple[list[VirtualGroup], list[str], dict[str, str | None]]:
        """The inputs as groups, their names, and relative paths by what they became."""
        groups: list[VirtualGroup] = []
        names: list[str] = []
        relative: dict[str, str | None] = {}
        for i, (name, item) in enumerate(self._named()):
            if isinstance(item, Mapping):
                refs = with_protocol(flat(item), self.remote_protocol)
                refs = dict(self.preprocess(refs)) if self.preprocess is not None else refs
                relative.update(relative_names(refs))
                node = load(refs, access=access_to(self.remote_options))
            else:
                node = load(item, access=access_to(self.target_options))
                node = tree(group_of(node), access_to(self.remote_options or self.target_options))
            groups.append(group_of(node))
            names.append(name or f"input {i + 1}")
        return groups, names, relative

    def _named(self) -> list[tuple[str | None, Any]]:
        """Names of inputs, and references as dicts; or paths of maps that are no JSON."""
        if self._indicts is not None:
            return list(zip([str(p) for p in self.path], self._indicts, strict=True))
        found: list[tuple[str | None, Any]] = []
        for item in [self.path] if isinstance(self.path, Mapping) else each_of(self.path, "path"):
            if isinstance(item, Mapping):
                found.append(((item.get("templates") or {}).get("u"), item))
            else:
                name = os.fspath(item)
                lazy = name.rstrip("/").endswith((".parq", ".parquet"))
                found.append((name, name if lazy else opened_json(name, self.target_options)))
        return found


def _default(dim: str) -> str:
    return "VARNAME" if dim == "var" else f"data:{dim}"


def _coordinate(group: VirtualTree, name: str, dims: set[str]) -> NDArray[Any]:
    if name == "var":
        spatial = {d for a in group.arrays.values() for d in a.meta.dimension_names or ()}
        return np.array(sorted(n for n in group.arrays if n not in dims | spatial))
    for path, node in group.walk():
        if isinstance(node, VirtualArray) and path.rsplit("/", 1)[-1] == name:
            return reader(group.access or DEFAULT)(node)
    return np.array([])


def drop(fields: str | Iterable[str]) -> Process:
    """A ``preprocess`` that leaves out variables."""
    names = [fields] if isinstance(fields, str) else list(fields)

    def process(refs: RefDict) -> RefDict:
        return {k: v for k, v in refs.items() if not any(k.startswith(f"{name}/") for name in names)}

    return process


class JustLoad:
    """For `auto_dask`, where the references of single files exist already."""

    def __init__(self, url: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self.url, self.storage_options = url, storage_options

    def translate(self) -> RefDict:
        """What is in the file."""
        return opened_json(self.url, self.storage_options)


def auto_dask(
    urls: Sequence[str],
    single_driver: Any,
    single_kwargs: Mapping[str, Any],
    mzz_kwargs: Mapping[str, Any],
    n_batches: int,
    remote_protocol: str | None = None,
    remote_options: Mapping[str, Any] | None = None,
    filename: str | None = None,
    output_options: Mapping[str, Any] | None = None,
    **misspelt: object,
) -> Any:
    """Scan files with Dask, ``n_batches`` tasks, and combine them here: combining is one step, and quick."""
    import dask

    refuse(misspelt, auto_dask)

    def scanned(batch: Sequence[str]) -> list[Any]:
        return [single_driver(url, **single_kwargs).translate() for url in batch]

    size = -(-len(urls) // max(1, n_batches))
    batches = [dask.delayed(scanned)(urls[i : i + size]) for i in range(0, len(urls), max(1, size))]
    found = [refs for batch in dask.compute(*batches) for refs in batch]
    given = {"remote_protocol": remote_protocol, "remote_options": remote_options, **mzz_kwargs}
    return MultiZarrToZarr(list(urls), indicts=found, **given).translate(filename, output_options)


__all__ = ["JustLoad", "MultiZarrToZarr", "auto_dask", "concatenate_arrays", "consolidate", "drop", "merge_vars"]
