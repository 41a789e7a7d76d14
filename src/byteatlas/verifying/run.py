"""Compare every array of a hierarchy, or a sample of its chunks, with the files that it was made from.

A map's own file list says which files those are. Each is scanned again, and an array's chunk is compared with the part
of the file that has the same bytes: offset and length tie the two together, wherever combining has moved the chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array, Group, Node, open_node
from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.source import Opener
from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.scanning.contract import Scanner, ScanOptions
from byteatlas.scanning.driver import recognise, scan_source
from byteatlas.scanning.plugins import installed
from byteatlas.values import dataclass, field
from byteatlas.verifying.compare import first_difference, first_difference_meant, same_attribute
from byteatlas.verifying.native import NATIVE_ERRORS, READERS, NativeArray, NativeFile
from byteatlas.verifying.report import VerifyItem, VerifyReport

BLOCK = 64 << 20
"""Bytes of an array that are compared at a time."""


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """How much to compare.

    Attributes:
        sample: compare this many chunks of each array, spread at random (always the same ones); None = all values.
        attributes: compare attributes and dimension names as well.
    """

    sample: int | None = None
    attributes: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """A file that the map leads to: what a scan of it finds, and the format's own view of it."""

    url: str
    scanned: VirtualGroup
    native: NativeFile

    def find(self, path: str) -> tuple[VirtualArray, NativeArray] | None:
        locators = next((i.locators for i in self.scanned.report if i.path.strip("/") == path), ())
        native = self.native.array(path, locators)
        try:
            virtual = self.scanned[path]
        except ByteatlasError:
            return None
        return (virtual, native) if native is not None and isinstance(virtual, VirtualArray) else None


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """The files, opened once each."""

    opener: Opener
    scanners: Mapping[str, Scanner]
    stack: ExitStack
    known: dict[str, Original | str] = field(default_factory=dict)

    def get(self, url: str) -> Original | str:
        """The file, or a sentence why there is no way to compare with it."""
        if url not in self.known:
            self.known[url] = self._open(url)
        return self.known[url]

    def _open(self, url: str) -> Original | str:
        source = self.opener(url)
        try:
            scanner = recognise(source, self.opener, self.scanners)
        except Unsupported:
            return f"{url} is no archive that could be opened by itself"
        if scanner.name not in READERS:
            return f"no other library at hand for format {scanner.name}"
        scanned = scan_source(source, self.opener, self.scanners, ScanOptions(), format=scanner.name)
        try:
            return Original(url, scanned, self.stack.enter_context(READERS[scanner.name](source)))
        except ByteatlasError:
            raise
        except NATIVE_ERRORS as error:
            return f"the format's own library cannot open the file: {error}"


def verify_node(
    node: VirtualNode,
    target: str = "",
    *,
    opener: Opener | None = None,
    options: VerifyOptions | None = None,
    archive: str | None = None,
    scanners: Mapping[str, Scanner] | None = None,
    done: Callable[[str], None] | None = None,
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
        urls = [archive] if archive else list(dict.fromkeys(u for _, a in names for u in _used(a.manifest.load())))
        root = open_node(node, opener)
        for path, virtual in names:
            items.append(_verify_array(path, virtual, root, originals, urls, chosen))
            if done is not None:
                done(path)
        if isinstance(node, VirtualGroup):
            refused = {i.path.strip("/"): f"{i.detail} [{i.reason}]" for i in node.report if i.status == "refused"}
            items += [VerifyItem(path, "refused", detail) for path, detail in refused.items()]
            known = {path for path, _ in names} | set(refused)
            items += _lost(known, originals, urls)
    return VerifyReport(target, tuple(items))


def _arrays(node: VirtualNode) -> list[tuple[str, VirtualArray]]:
    if isinstance(node, VirtualArray):
        return [("", node)]
    return [(path, child) for path, child in node.walk() if isinstance(child, VirtualArray)]


def _used(manifest: ChunkManifest) -> list[str]:
    """The files that an array's chunks lie in; a manifest may list those of a whole map."""
    return [manifest.sources[i].url for i in np.unique(manifest.source[manifest.source >= 0]).tolist()]


def _lost(known: set[str], originals: Originals, urls: list[str]) -> Iterator[VerifyItem]:
    """What the only file of a map has, and the map neither presents nor refuses."""
    if len(urls) != 1:
        return
    original = originals.get(urls[0])
    if isinstance(original, str):
        return
    refused = {i.path.strip("/") for i in original.scanned.report if i.status == "refused"}
    for name in original.native.names():
        if name not in known and name not in refused:
            yield VerifyItem(name, "lost", "the file has this dataset; the map neither presents nor refuses it")


def _verify_array(
    path: str, virtual: VirtualArray, root: Node, originals: Originals, urls: list[str], options: VerifyOptions
) -> VerifyItem:
    manifest = virtual.manifest.load()
    own = urls if len(urls) == 1 else _used(manifest) or urls
    try:
        ours = root[path] if isinstance(root, Group) else root
        assert isinstance(ours, Array)
        if len(own) == 1:
            return _against_file(path, ours, originals.get(own[0]), options)
        if not _used(manifest):
            return _inlined(path, ours, [originals.get(url) for url in urls])
        return _by_chunks(path, ours, manifest, originals, options)
    except ByteatlasError as error:
        why = f"{type(error).__name__}: {error}"
        if len(own) == 1 and _fails_too(path, originals.get(own[0])):
            return VerifyItem(path, "damaged", f"the format's own library fails as well: {why}", files=1)
        return VerifyItem(path, "error", why, files=len(own))
    except NATIVE_ERRORS as error:  # ours are all ByteatlasError
        return VerifyItem(path, "unchecked", f"the format's own library fails: {error}", files=len(own))


def _fails_too(path: str, original: Original | str) -> bool:
    """Whether the format's own library cannot read an array either: then the file is damaged."""
    found = None if isinstance(original, str) else original.find(path)
    if found is None:
        return False
    try:
        found[1].read(())
    except NATIVE_ERRORS:
        return True
    return False


def _against_file(path: str, ours: Array, original: Original | str, options: VerifyOptions) -> VerifyItem:
    """An array that is one array of one file."""
    if isinstance(original, str):
        return VerifyItem(path, "unchecked", original)
    found = original.find(path)
    if found is None:
        return VerifyItem(path, "unchecked", f"{original.url} has no array {path!r} to compare with")
    _, native = found
    if _squeezed(native.shape) != _squeezed(ours.shape):
        return VerifyItem(path, "different", f"shape {ours.shape}, the library has {native.shape}")
    values = 0
    same_shape = native.shape == ours.shape
    for region in _regions(ours.meta, options) if same_shape else [()]:
        got = ours.read(region) if same_shape else ours.read()
        wanted = native.read(region)
        difference = first_difference(got, wanted if same_shape else wanted.reshape(ours.shape))
        if difference is not None:
            return VerifyItem(path, "different", _where(region) + difference, values, 1)
        values += got.size
    said = _attributes_differ(ours, native) if options.attributes else None
    return VerifyItem(path, "different" if said else "equal", said or "", values, 1)


def _by_chunks(
    path: str, ours: Array, manifest: ChunkManifest, originals: Originals, options: VerifyOptions
) -> VerifyItem:
    """An array of many files: chunk by chunk, with the part of the file that has the same bytes."""
    rows = np.flatnonzero(manifest.source >= 0)
    if options.sample is not None and len(rows) > options.sample:
        rows = np.sort(np.random.default_rng(0).choice(rows, options.sample, replace=False))
    order = np.argsort(manifest.source[rows], kind="stable")
    repacked = any(e.cast or e.data_type is not None for e in ours.meta.encodings)
    values, unmatched, files = 0, 0, 0
    for source in np.unique(manifest.source[rows]).tolist():
        mine = rows[order][manifest.source[rows][order] == source]
        original = originals.get(manifest.sources[source].url)
        found = None if isinstance(original, str) else original.find(path)
        if found is None:
            unmatched += len(mine)
            continue
        files += 1
        theirs, native = found
        places = _places(theirs, manifest, mine)
        for chunk, at in zip(mine.tolist(), places, strict=True):
            region = _region(ours.meta, chunk)
            there = None if at is None else _region(theirs.meta, at)
            if there is None or [s.stop - s.start for s in there] != [s.stop - s.start for s in region]:
                unmatched += 1
                continue
            got, wanted = ours.read(region), native.read(there)
            difference = first_difference(got, wanted)
            if difference is not None and repacked:
                difference = first_difference_meant(got, ours.attrs, wanted, theirs.meta.attributes)
            if difference is not None:
                return VerifyItem(path, "different", f"{_where(region)}{difference}", values, files)
            values += math.prod(s.stop - s.start for s in region)
    if unmatched:
        detail = f"{unmatched} of {len(rows)} chunks have no counterpart in the files that could be compared"
        return VerifyItem(path, "unchecked", detail, values, files)
    return VerifyItem(
        path, "equal", "packed in several ways: unpacked values compared" if repacked else "", values, files
    )


def _places(theirs: VirtualArray, manifest: ChunkManifest, mine: NDArray[np.int64]) -> list[int | None]:
    """For each of our chunks, the file's own chunk with the same offset and length."""
    own = theirs.manifest.load()
    table = {(o, n): i for i, (o, n) in enumerate(zip(own.offset.tolist(), own.length.tolist(), strict=True))}
    keys = zip(manifest.offset[mine].tolist(), manifest.length[mine].tolist(), strict=True)
    return [table.get(key) for key in keys]


def _inlined(path: str, ours: Array, originals: list[Original | str]) -> VerifyItem:
    """An array whose bytes are in the map: the same in all files, or the files' values one after the other."""
    parts = []
    for original in originals:
        found = None if isinstance(original, str) else original.find(path)
        if found is not None:
            parts.append(found[1].read(()))
    if not parts:
        return VerifyItem(path, "unchecked", "its values are in the map itself; no file has an array of this name")
    values = ours.read()
    if all(p.shape == values.shape and first_difference(values, p) is None for p in parts):
        return VerifyItem(path, "equal", "", values.size * len(parts), len(parts))
    joined = np.concatenate([p.reshape(-1) for p in parts]) if values.ndim == 1 else None
    if joined is not None and joined.shape == values.shape and first_difference(values, joined) is None:
        return VerifyItem(path, "equal", "", values.size, len(parts))
    return VerifyItem(path, "unchecked", "its values are in the map itself and are not simply those of the files")


def _regions(meta: ArrayMeta, options: VerifyOptions) -> Iterator[tuple[slice, ...]]:
    """What to compare at a time: sampled chunks, or runs of whole chunk rows of bounded size."""
    total = math.prod(chunk_counts(meta.shape, meta.grid))
    if options.sample is not None and total > options.sample:
        for chunk in np.sort(np.random.default_rng(0).choice(total, options.sample, replace=False)).tolist():
            yield _region(meta, chunk)
        return
    if not meta.shape or 0 in meta.shape:
        yield tuple(slice(0, n) for n in meta.shape)
        return
    starts = boundaries(meta.shape[0], meta.grid, 0).tolist()
    row = math.prod(meta.shape[1:]) * max(meta.data_type.numpy.itemsize, 1)
    begin = 0
    for end in starts[1:]:
        if (end - begin) * row >= BLOCK or end == meta.shape[0]:
            if end > begin:
                yield (slice(begin, end), *(slice(0, n) for n in meta.shape[1:]))
            begin = end


def _region(meta: ArrayMeta, chunk: int) -> tuple[slice, ...]:
    """The part of the array that a chunk covers."""
    counts = chunk_counts(meta.shape, meta.grid)
    index = np.unravel_index(chunk, counts) if counts else ()
    out = []
    for axis, (i, n) in enumerate(zip(index, meta.shape, strict=True)):
        starts = boundaries(n, meta.grid, axis)
        out.append(slice(int(starts[int(i)]), int(starts[int(i) + 1])))
    return tuple(out)


def _attributes_differ(ours: Array, native: NativeArray) -> str | None:
    theirs = native.attributes
    if theirs is not None:
        for name, value in theirs.items():
            if name not in ours.attrs:
                return f"attribute {name!r} is not in the map"
            if not same_attribute(ours.attrs[name], value):
                return f"attribute {name!r} is {ours.attrs[name]!r}, the library reads {value!r}"
    if native.dims is not None and ours.dims is not None:
        pairs = zip(native.dims, ours.dims, strict=False)
        if any(a is not None and b is not None and a != b for a, b in pairs):
            return f"dimensions {ours.dims}, the library has {native.dims}"
    return None


def _squeezed(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


def _where(region: tuple[slice, ...]) -> str:
    return f"in [{', '.join(f'{s.start}:{s.stop}' for s in region)}] " if region else ""
