"""Compare every array of a hierarchy, or a sample of its chunks, with the files that it was made from.

A map's own file list says which files those are. Each is scanned again, and an array's chunk is compared with the part
of the file that has the same bytes: offset and length tie the two together, wherever combining has moved the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from byteatlas.array import open_node
from byteatlas.io.open import SourcePool
from byteatlas.io.source import Opener
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.progress import OnProgress, Progress
from byteatlas.scanning.contract import Scanner
from byteatlas.scanning.plugins import installed
from byteatlas.verifying.arrays import used_files, verify_array
from byteatlas.verifying.options import VerifyOptions
from byteatlas.verifying.originals import Originals
from byteatlas.verifying.report import VerifyItem, VerifyReport


def verify_node(
    node: VirtualNode,
    target: str = "",
    *,
    opener: Opener | None = None,
    options: VerifyOptions | None = None,
    archive: str | None = None,
    scanners: Mapping[str, Scanner] | None = None,
    progress: OnProgress | None = None,
) -> VerifyReport:
    """Verify a tree of virtual arrays against the files that its references lead to.

    Args:
        archive: the file that the whole tree is a scan of, where that is known: then all arrays are compared with it,
            wherever their bytes are (in the map, in other files that it names).

    Raises `MissingExtra` when a format's own library is not installed, `FetchFailed` when a file cannot be reached.
    """
    chosen, opener = options or VerifyOptions(), opener or SourcePool()
    items: list[VerifyItem] = []
    with ExitStack() as stack:
        originals = Originals(opener, installed() if scanners is None else scanners, stack)
        names = _arrays(node)
        files = _files(names)
        if archive is not None and not originals.is_index(archive):
            files = [SourceInfo(archive)]
        root = open_node(node, opener)
        for number, (path, virtual) in enumerate(names, 1):
            items.append(verify_array(path, virtual, root, originals, files, chosen, whole=archive is not None))
            if progress is not None:
                progress(Progress("verify", path, number, len(names)))
        if isinstance(node, VirtualGroup):
            refused = {i.path.strip("/"): f"{i.detail} [{i.reason}]" for i in node.report if i.status == "refused"}
            items += [VerifyItem(path, "refused", detail) for path, detail in refused.items()]
            known = {path for path, _ in names} | set(refused)
            items += _lost(known, originals, files)
    return VerifyReport(target, tuple(items))


def _arrays(node: VirtualNode) -> list[tuple[str, VirtualArray]]:
    if isinstance(node, VirtualArray):
        return [("", node)]
    return [(path, child) for path, child in node.walk() if isinstance(child, VirtualArray)]


def _files(names: list[tuple[str, VirtualArray]]) -> list[SourceInfo]:
    """The files that the chunks of all arrays lie in."""
    return list(dict.fromkeys(file for _, array in names for file in used_files(array.manifest.load())))


def _lost(known: set[str], originals: Originals, files: list[SourceInfo]) -> Iterator[VerifyItem]:
    """What the only file of a map has, and the map neither presents nor refuses."""
    if len(files) != 1:
        return
    original = originals.get(files[0])
    if isinstance(original, str):
        return
    refused = {i.path.strip("/") for i in original.scanned.report if i.status == "refused"}
    for name in original.native.names():
        if name not in known and name not in refused:
            yield VerifyItem(name, "lost", "the file has this dataset; the map neither presents nor refuses it")
