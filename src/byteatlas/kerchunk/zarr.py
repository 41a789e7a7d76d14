"""``kerchunk.zarr``: references to the chunks of a Zarr version 2 store."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from typing import Any

from byteatlas.errors import BadRequest
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import handed_out, text_of
from byteatlas.kerchunk.utils import class_factory, do_inline


def single_zarr(
    uri_or_store: Any,
    storage_options: Mapping[str, Any] | None = None,
    inline_threshold: float = 100,
    inline: float | None = None,
    out: MutableMapping[str, Any] | None = None,
    **misspelt: object,
) -> Any:
    """References (version 1) to a store, with kerchunk's arguments: a URL, or an fsspec mapper.

    Raises `BadRequest` for what is no group of Zarr version 2.
    """
    import fsspec

    refuse(misspelt, single_zarr)
    mapper = uri_or_store
    if isinstance(mapper, str):
        mapper = fsspec.get_mapper(mapper, **dict(storage_options or {}))
    group = _document(mapper)
    if not isinstance(group, dict) or group.get("zarr_format") != 2:
        raise BadRequest("no group of Zarr version 2; open others with byteatlas.load")
    refs: dict[str, Any] = {}
    for key in sorted(mapper):
        last = key.rsplit("/", 1)[-1]
        refs[key] = mapper[key] if last.startswith(".z") else [mapper.fs.unstrip_protocol(mapper._key_to_str(key))]
    below = inline_threshold if inline is None else inline
    refs = {key: text_of(value) for key, value in do_inline(refs, below, dict(storage_options or {})).items()}
    return handed_out(refs, out)


def _document(mapper: Any) -> Any:
    try:
        return json.loads(mapper[".zgroup"])
    except (KeyError, ValueError):
        return None


ZarrToZarr = class_factory(single_zarr)
