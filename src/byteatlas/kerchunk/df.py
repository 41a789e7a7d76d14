"""``kerchunk.df``: references as Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.api.indexing import load
from byteatlas.api.writing import write
from byteatlas.kerchunk.arguments import refuse
from byteatlas.kerchunk.references import access_to, flat, opened_json
from byteatlas.manifest.options import MapWriteOptions


def refs_to_dataframe(
    fo: str | Mapping[str, Any],
    url: str,
    target_protocol: str | None = None,
    target_options: Mapping[str, Any] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    record_size: int = 100_000,
    categorical_threshold: int = 10,
    **misspelt: object,
) -> None:
    """Write references (a dict, or a JSON file) as a Parquet map, with kerchunk's arguments.

    Args:
        categorical_threshold: accepted and not needed: URLs are always written as a dictionary.
    """
    refuse(misspelt, refs_to_dataframe)
    if isinstance(fo, str):
        options = dict(target_options or {})
        if target_protocol is not None:
            options["protocol"] = target_protocol
        fo = opened_json(fo, options)
    node = load(flat(fo))
    options_of_map = MapWriteOptions(record_size=record_size, keep_queries=True)
    write(node, url, format="parquet", options=options_of_map, access=access_to(storage_options))
