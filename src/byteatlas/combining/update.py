"""Writing a map that grew: of a Parquet map only the part files whose rows changed, and the metadata last."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

from byteatlas.errors import InvalidMetadata
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import absolute
from byteatlas.io.writing.versions import FileVersion
from byteatlas.manifest.json.write import source_rows
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.kinds.window import WindowManifest
from byteatlas.manifest.model import ChunkManifest, Manifest, SourceInfo, VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.parquet.behind import Behind
from byteatlas.manifest.parquet.marks import map_folder, marks_of, own_entry
from byteatlas.manifest.parquet.read import LazyParquet
from byteatlas.manifest.parquet.write import write_parts
from byteatlas.manifest.tree import node_documents
from byteatlas.meta.json_text import json_text
from byteatlas.types import JSON
from byteatlas.values import replace


def update_parquet(
    node: VirtualGroup,
    url: str,
    *,
    access: Access = DEFAULT,
    options: MapWriteOptions | None = None,
    version: FileVersion | None = None,
    renew: Callable[[], None] = lambda: None,
) -> None:
    """Write ``node`` over the Parquet map at ``url``, from which some of its manifests read.

    Rows in front of the first changed one stay in their files. The old map is replaced as a whole: readers find the
    old one or the new one (on object storage, see `byteatlas.manifest.parquet.marks`). The size of part files stays.

    Args:
        version: the state in which the metadata must be when they are replaced, where the storage can compare.
        renew: called before each file is written (see `byteatlas.io.writing.leases`).

    Raises `Overtaken` when others wrote the map meanwhile.
    """
    url = absolute(url).rstrip("/")
    where = f"{url}/.zmetadata"
    try:
        old = json.loads(bytes(access.open(where).read_all()))
    except (ValueError, RecursionError) as error:
        raise InvalidMetadata(where, f"not JSON ({error})") from error
    size = old.get("record_size") if isinstance(old, Mapping) else None
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise InvalidMetadata(where, f"record_size {size!r} is not a number of rows")
    options = replace(options or MapWriteOptions(), record_size=size, base=url)
    documents, arrays = node_documents(node, separator=".")
    seen: dict[str, SourceInfo] = {}
    pinned_arrays = [replace(a, manifest=pinned(a.manifest, url, a.path)) for a in arrays]
    marks = marks_of(old, where)
    with map_folder(url, access, keep=True, renew=renew) as folder:
        with Behind(folder, pinned_arrays) as sink:
            for array in pinned_arrays:
                renew()
                write_parts(array, sink, options, seen, unchanged_rows(array.manifest, url, array.path))
        whole: dict[str, JSON] = {"metadata": documents, "record_size": size}
        table: JSON = list(merged_sources(old, source_rows(seen, options))) if options.sources else None
        whole |= own_entry(table, marks, sink.names, sink.mark)
        renew()
        folder.put(".zmetadata", json_text(whole).encode(), version)


def pinned(manifest: Manifest, url: str, path: str) -> Manifest:
    """The manifest with everything in memory that it would read from files which are about to be written over.

    Only rows that keep their places may stay on disk: they are read again just before their own file is written.
    """
    if isinstance(manifest, ChunkManifest) or (isinstance(manifest, LazyParquet) and manifest.origin == (url, path)):
        return manifest
    if isinstance(manifest, SegmentedManifest) and unchanged_rows(manifest, url, path):
        first, *rest = manifest.segments
        return SegmentedManifest(manifest.grid_shape, [first, *(m.load() for m in rest)])
    return manifest.load()


def unchanged_rows(manifest: Manifest, url: str, path: str) -> int:
    """How many rows, from the first on, are those of the map's own files for this array."""
    match manifest:
        case LazyParquet():
            return math.prod(manifest.grid_shape) if manifest.origin == (url, path) else 0
        case WindowManifest(inner=inner, axis=0, start=0):
            return min(unchanged_rows(inner, url, path), math.prod(manifest.grid_shape))
        case SegmentedManifest():
            return unchanged_rows(manifest.segments[0], url, path)
        case _:
            return 0


def merged_sources(old: JSON, new: list[list[JSON]]) -> list[JSON]:
    """The old table of sources with the new entries behind it; a source that is in both has the new entry."""
    table = old.get("byteatlas") if isinstance(old, Mapping) else None
    rows = table.get("sources") if isinstance(table, Mapping) else None
    kept = {row[0]: row for row in rows or () if isinstance(row, list) and row}
    kept.update((row[0], row) for row in new)
    return list(kept.values())
