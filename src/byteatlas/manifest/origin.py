"""What trees that came from elsewhere name on this machine: marked when they come in, refused when they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from byteatlas.errors import BadRequest, Forbidden, Unsupported
from byteatlas.io.policy import Policy, foreign
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.kinds.renamed import RenamedManifest
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.ops.common import all_arrays, map_arrays
from byteatlas.values import replace


def marked(node: VirtualGroup, origin: str) -> VirtualGroup:
    """The tree with ``foreign`` set on each source that a file at ``origin`` has no right to name.

    A scanner makes its sources as it likes; this looks at what came out.
    """

    def info(source: SourceInfo) -> SourceInfo:
        if isinstance(source, JoinedInfo):
            return source.renamed(info)
        return replace(source, foreign=source.foreign or foreign(origin, source.url))

    def array(path: str, old: VirtualArray) -> VirtualArray:
        if all(s.foreign or not foreign(origin, s.url) for s in source_files(old.manifest.sources)):
            return old
        return replace(old, manifest=RenamedManifest(old.manifest, info))

    found = map_arrays(node, array)
    return found if isinstance(found, VirtualGroup) else node


def source_files(sources: Iterable[SourceInfo]) -> Iterator[SourceInfo]:
    """Sources, and for those that are made of parts of others, these."""
    for source in sources:
        yield from source.files if isinstance(source, JoinedInfo) else (source,)


def check_written(node: VirtualNode, policy: Policy | None = None) -> None:
    """Whether the references of a tree may be written into a map.

    Raises:
        Unsupported: an array has chunks that are made of several byte ranges.
        Forbidden: one leads to a file of this machine that something from elsewhere named. In a map that lies here it
            would look like the caller's own.
        BadRequest: one leads to an open file, which nobody else can find.
    """

    fine: dict[int, tuple[SourceInfo, ...]] = {}  # combined arrays share one table, which may be long
    for path, array in all_arrays(node):
        table = array.manifest.sources
        if id(table) in fine:
            continue
        doubtful = [s for s in table if s.foreign or s.url.startswith(OPEN_FILE) or isinstance(s, JoinedInfo)]
        if not doubtful:
            fine[id(table)] = table
        for source in used(array, doubtful) if doubtful else ():
            if isinstance(source, JoinedInfo):
                why = f"{path or 'the array'} has chunks of several byte ranges, which no reference map expresses"
                raise Unsupported("layout", f"{why}; scan with inline_below to copy small ones into the map")
            if source.url.startswith(OPEN_FILE):
                raise BadRequest(f"{path}: its bytes are in an open file, which has no name that a map could give")
            try:
                (policy or Policy()).check(source.url, foreign=True)
            except Forbidden as error:
                why = f"{path or 'the array'} came from the network and refers to it; a map written here could read it"
                raise Forbidden(source.url, f"{why} (a policy with allow=[...] permits it)") from error


def used(array: VirtualArray, sources: Iterable[SourceInfo]) -> list[SourceInfo]:
    """Those of the sources that a chunk refers to: a manifest may list the files of a whole map."""
    manifest = array.manifest.load()
    numbers = np.unique(manifest.source[manifest.source >= 0]).tolist()
    there = {manifest.sources[n] for n in numbers}
    return [s for s in sources if s in there]
