"""One array through our engine, compared with what the formats' own libraries read."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array, Group, Node
from byteatlas.errors import ByteatlasError, MissingExtra
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray
from byteatlas.verifying.compare import first_difference, first_difference_meant, same_attribute
from byteatlas.verifying.native.contract import NATIVE_ERRORS, NativeArray
from byteatlas.verifying.options import VerifyOptions
from byteatlas.verifying.originals import Original, Originals
from byteatlas.verifying.regions import region_of, regions, where
from byteatlas.verifying.report import VerifyItem


def verify_array(
    path: str,
    virtual: VirtualArray,
    root: Node,
    originals: Originals,
    files: list[SourceInfo],
    options: VerifyOptions,
    *,
    whole: bool = False,
) -> VerifyItem:
    """Compare one array; ``whole``: it is known to be all of the file's, not a part or a combination."""
    manifest = virtual.manifest.load()
    own = files if len(files) == 1 else used_files(manifest) or files
    try:
        ours = root[path] if isinstance(root, Group) else root
        assert isinstance(ours, Array)
        if len(own) == 1 and (whole or not _other_size(path, ours, originals.get(own[0]))):
            return _against_file(path, ours, originals.get(own[0]), options)
        if not used_files(manifest):
            return _inlined(path, ours, [originals.get(file) for file in files])
        return _by_chunks(path, ours, manifest, originals, options)
    except MissingExtra as error:
        return VerifyItem(path, "unchecked", str(error), files=len(own))
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


def _other_size(path: str, ours: Array, original: Original | str) -> bool:
    """Whether the only file that is known has more or less of an array: a selection, or values of files now unnamed."""
    found = None if isinstance(original, str) else original.find(path)
    return found is not None and math.prod(found[1].shape) != math.prod(ours.shape)


def _against_file(path: str, ours: Array, original: Original | str, options: VerifyOptions) -> VerifyItem:
    """An array that is one array of one file."""
    if isinstance(original, str):
        return VerifyItem(path, "unchecked", original)
    found = original.find(path)
    if found is None:
        return VerifyItem(path, "unchecked", f"{original.url} has no array {path!r} to compare with")
    _, native = found
    if math.prod(native.shape) != math.prod(ours.shape):
        return VerifyItem(path, "different", f"shape {ours.shape}, the library has {native.shape}")
    values = 0
    same_shape = native.shape == ours.shape
    for region in regions(ours.meta, options.sample) if same_shape else [()]:
        got = ours.read(region) if same_shape else ours.read()
        wanted = native.read(region)
        difference = first_difference(got, wanted if same_shape else wanted.reshape(ours.shape))
        if difference is not None:
            return VerifyItem(path, "different", where(region) + difference, values, 1)
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
        original = originals.get(_file(manifest.sources[source]))
        found = None if isinstance(original, str) else original.find(path)
        if found is None:
            unmatched += len(mine)
            continue
        files += 1
        theirs, native = found
        places = _places(theirs, manifest, mine)
        for chunk, at in zip(mine.tolist(), places, strict=True):
            region = region_of(ours.meta, chunk)
            there = None if at is None else region_of(theirs.meta, at)
            if there is None or [s.stop - s.start for s in there] != [s.stop - s.start for s in region]:
                unmatched += 1
                continue
            got, wanted = ours.read(region), native.read(there)
            difference = first_difference(got, wanted)
            if difference is not None and repacked:
                difference = first_difference_meant(got, ours.attrs, wanted, theirs.meta.attributes)
            if difference is not None:
                return VerifyItem(path, "different", f"{where(region)}{difference}", values, files)
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


def used_files(manifest: ChunkManifest) -> list[SourceInfo]:
    """The files that an array's chunks lie in; a manifest may list those of a whole map."""
    return [_file(manifest.sources[i]) for i in np.unique(manifest.source[manifest.source >= 0]).tolist()]


def _file(source: SourceInfo) -> SourceInfo:
    """What makes two entries of source tables one file: not when it was indexed, but whether it may be opened."""
    return SourceInfo(source.url, foreign=source.foreign)
