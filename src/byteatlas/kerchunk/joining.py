"""References put together key by key: variables of several sets, or one array after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from byteatlas.errors import BadRequest, Conflict, unknown
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import RefDict, bytes_of, flat, opened_json


def merge_vars(files: Sequence[Any], storage_options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The variables of several reference sets (version 1; dicts or JSON files) as one set.

    Raises `Conflict` where two sets have an array of one name that is not the same; metadata of groups may differ,
    and the last one counts.
    """
    merged: RefDict = {}
    for item in files:
        for key, value in flat(item if isinstance(item, Mapping) else opened_json(item, storage_options)).items():
            if key in merged and merged[key] != value and not _of_group(key, merged):
                raise Conflict([f"{key} is in two of the sets, and differs"], "merge_vars")
            merged[key] = value
    return {"version": 1, "refs": merged}


def _of_group(key: str, refs: Mapping[str, Any]) -> bool:
    name = key.rsplit("/", 1)[-1]
    folder = key[: -len(name)]
    return name in (".zgroup", ".zmetadata") or (name == ".zattrs" and f"{folder}.zarray" not in refs)


def concatenate_arrays(
    files: Sequence[Any],
    storage_options: Mapping[str, Any] | None = None,
    axis: int = 0,
    key_seperator: str = ".",
    path: str | None = None,
    check_arrays: bool = True,
    **misspelt: object,
) -> dict[str, Any]:
    """One array of each reference set after the other along an axis, as references of version 1.

    Args:
        key_seperator: as kerchunk spells it; the array's own metadata counts where it says.
        path: of the array in the sets; dots or slashes. None: the sets are arrays.
        check_arrays: accepted; shapes, chunks, types and codecs are always compared.

    Raises `BadRequest` for arrays that do not fit.
    """
    refuse(misspelt, concatenate_arrays)
    base = "" if not path else path.strip("./").replace(".", "/") + "/"
    out: RefDict = {}
    whole: dict[str, Any] = {}
    offset = 0
    for i, item in enumerate(files):
        refs = flat(item if isinstance(item, Mapping) else opened_json(item, storage_options))
        if f"{base}.zarray" not in refs:
            raise unknown("array", base.strip("/"), [k[:-8] for k in refs if k.endswith("/.zarray")])
        meta = json.loads(bytes_of(refs[f"{base}.zarray"]))
        if i == 0:
            whole = {**meta, "shape": list(meta["shape"])}
            out = {k: v for k, v in refs.items() if k in (".zgroup", ".zattrs", f"{base}.zattrs")}
        else:
            _check(i, meta, whole, axis)
            whole["shape"][axis] += meta["shape"][axis]
        count, rest = divmod(meta["shape"][axis], meta["chunks"][axis])
        if rest and i < len(files) - 1:
            raise BadRequest(
                f"Array at index {i} has irregular chunking at its boundary: only the last may."
                " byteatlas.concat takes such arrays"
            )
        out.update(_moved(refs, base, axis, offset, meta.get("dimension_separator", key_seperator)))
        offset += count
    out[f"{base}.zarray"] = json.dumps(whole, separators=(",", ":"))
    return {"version": 1, "refs": out}


def _moved(refs: RefDict, base: str, axis: int, offset: int, separator: str) -> RefDict:
    """The array's chunks, with another number along an axis."""
    found = {}
    for key, value in refs.items():
        rest = key[len(base) :]
        if key.startswith(base) and rest[:1].isdigit():
            parts = rest.split(separator)
            parts[axis] = str(int(parts[axis]) + offset)
            found[base + separator.join(parts)] = value
    return found


def _check(index: int, meta: Mapping[str, Any], whole: Mapping[str, Any], axis: int) -> None:
    """Raise `BadRequest` unless arrays can stand one after the other."""

    def other(shape: list[Any]) -> list[Any]:
        return [*shape[:axis], "*", *shape[axis + 1 :]]

    if other(meta["shape"]) != other(whole["shape"]) or len(meta["shape"]) != len(whole["shape"]):
        raise BadRequest(
            f"Incompatible array shape at index {index}. Expected {other(whole['shape'])}, got {meta['shape']}"
        )
    if meta["chunks"] != whole["chunks"]:
        raise BadRequest(
            f"Incompatible array chunks at index {index}. Expected {whole['chunks']}, got {meta['chunks']}"
        )
    for name in ("dtype", "compressor", "filters", "order", "fill_value", "dimension_separator"):
        if meta.get(name) != whole.get(name):
            raise BadRequest(f"Incompatible array {name} at index {index}: {whole.get(name)}, {meta.get(name)}")
