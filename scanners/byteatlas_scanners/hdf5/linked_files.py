"""All files of one scan: the file itself and those that external links and virtual datasets lead to.

Other files are asked about and read through the driver, which applies the policy in force: what may not be opened is
refused, one link or dataset at a time.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Any

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.io.urls import join
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse, ScanOptions, Stat
from byteatlas.scanning.parsers import elsewhere, gather, settle
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.layout import Virtual
from byteatlas_scanners.hdf5.format.links import External, Hard, Link, Soft, UserDefined
from byteatlas_scanners.hdf5.format.wire import MALFORMED
from byteatlas_scanners.hdf5.virtual.mappings import Mapping, numbered, parse_mappings
from byteatlas_scanners.hdf5.walk import Broken, Dataset, File, H5Group, open_file, walk

MOST_FILES = 10_000
MOST_GENERATIONS = 16
NUMBERED_AT_ONCE = 16
MOST_LINKS = 16
"""Soft and external links followed for one path, in all (H5L_NUM_LINKS, H5G__traverse_special)."""
MOST_STEPS = 1 << 23
"""Names looked up for all links and virtual datasets of one scan."""


@dataclass(slots=True)
class PathWalk:
    """How many links have been followed since a walk along one path began, at whatever depth."""

    links: int = 0


@dataclass(slots=True)
class LinkedFiles:
    """The scanned file and those that its links lead to.

    Attributes:
        main: the file that is being scanned.
        by_url: every file read, by its full URL.
        infos: what is known of a file that some file names.
        named: what stands behind such a name: a file, or why there is none.
    """

    main: File
    options: ScanOptions
    by_url: dict[str, File] = field(default_factory=dict)
    named: dict[Stat, File | FileFault] = field(default_factory=dict)
    infos: dict[Stat, Any] = field(default_factory=dict)
    indexes: dict[tuple[int, int], dict[str, Link]] = field(default_factory=dict)
    steps: int = 0

    @staticmethod
    def of(main: File, options: ScanOptions) -> LinkedFiles:
        """Just the scanned file, so far."""
        return LinkedFiles(main, options, {main.form.source.url: main})

    def external(self, parent: File, name: str) -> File:
        """The file that an external link or virtual dataset names. Raises `Unsupported` and what opening it raised."""
        for place in candidates(parent, name):
            found = self.named.get(place)
            if isinstance(found, File):
                return found
            if isinstance(found, FileFault):
                raise found
            if place not in self.infos:
                raise Unsupported(Reason.TOO_LARGE, f"more than {MOST_FILES} files, {name!r} is one too many")
        raise Unsupported(Reason.LINK, f"there is no file {name!r}")

    def find(self, parent: File, name: str, path: str) -> tuple[File, Dataset] | None:
        """A source of a virtual dataset; None when the file or the dataset does not exist."""
        if name != "." and not any(self.infos.get(place, True) for place in candidates(parent, name)):
            return None
        other = parent if name == "." else self.external(parent, name)
        try:
            file, address = self.resolve(other, other.root, "/" + path)
        except Unsupported as error:
            if error.reason == Reason.LINK:
                return None
            raise
        node = file.objects.get(address)
        if isinstance(node, Broken):
            raise node.error
        return (file, node) if isinstance(node, Dataset) else None

    def resolve(self, file: File, group: int, path: str, walk: PathWalk | None = None) -> tuple[File, int]:
        """The object at a path, from a group (or the root, for an absolute path).

        Raises `Unsupported` for a path that leads nowhere, in circles or over a user-defined link.
        """
        walk = walk or PathWalk()
        if path.startswith("/"):
            group = file.root
        parts = path.split("/")
        self.steps += len(parts)
        if self.steps > MOST_STEPS:
            raise Unsupported(Reason.TOO_LARGE, f"links and virtual datasets name more than {MOST_STEPS} members")
        for part in parts:
            if part in ("", "."):
                continue
            link = self.members(file, group).get(part)
            if link is None:
                raise Unsupported(Reason.LINK, f"{path!r} leads nowhere")
            file, group = self.follow(file, group, link, walk)
        return file, group

    def follow(self, file: File, group: int, link: Link, walk: PathWalk | None = None) -> tuple[File, int]:
        """The object that a member of a group stands for. Raises as `resolve`."""
        target = link.target
        if isinstance(target, Hard):
            return file, target.address
        walk = walk or PathWalk()
        walk.links += 1
        if walk.links > MOST_LINKS:
            raise Unsupported(Reason.LINK, f"link {link.name!r} leads in a circle, or over more than {MOST_LINKS}")
        match target:
            case Soft(path):
                return self.resolve(file, group, path, walk)
            case External(name, path):
                other = self.external(file, name)
                return self.resolve(other, other.root, "/" + path, walk)
            case UserDefined(kind):
                raise Unsupported(Reason.LINK, f"link {link.name!r} is of the user-defined class {kind}")

    def members(self, file: File, group: int) -> dict[str, Link]:
        """A group's links by name. Raises `Unsupported` when the object is no group."""
        key = (id(file), group)
        found = self.indexes.get(key)
        if found is None:
            node = file.objects.get(group)
            if not isinstance(node, H5Group):
                raise Unsupported(Reason.LINK, "a path leads through something that is not a group")
            found = self.indexes[key] = {link.name: link for link in node.links}
        return found

    def load(self, wanted: Iterable[tuple[File, str]]) -> Parse[list[File]]:
        """Read the files of these (parent, name) pairs that are not at hand yet; returns the new ones."""
        spots: dict[Stat, None] = {}
        for parent, name in wanted:
            if not any(place in self.named for place in candidates(parent, name)):
                spots.update(dict.fromkeys(p for p in candidates(parent, name) if p not in self.infos))
        places = list(spots)[: max(0, MOST_FILES - len(self.by_url))]
        if not places:
            return []
        found = yield from settle(places)
        self.infos.update(zip(places, found, strict=True))
        fresh = [place for place, info in zip(places, found, strict=True) if isinstance(info, SourceInfo)]
        self.named.update({p: i for p, i in zip(places, found, strict=True) if isinstance(i, FileFault)})
        return (yield from self._read(fresh))

    def _read(self, places: Sequence[Stat]) -> Parse[list[File]]:
        begun: dict[str, Stat] = {}
        for place in places:
            full = self.infos[place].url
            if full in self.by_url:
                self.named[place] = self.by_url[full]
            else:
                begun.setdefault(full, place)
        results = yield from gather([self._one(place.url, self.infos[place]) for place in begun.values()])
        new: list[File] = []
        for (full, place), result in zip(begun.items(), results, strict=True):
            self.named[place] = result
            if isinstance(result, File):
                self.by_url[full] = result
                new.append(result)
        for place in places:
            if place not in self.named:
                first = begun.get(self.infos[place].url)
                self.named[place] = _nothing() if first is None else self.named[first]
        return new

    def _one(self, url: str, info: SourceInfo) -> Parse[File]:
        def read() -> Parse[File]:
            file = yield from open_file(info, self.options, url)
            yield from walk(file)
            return file

        return (yield from elsewhere(url, read()))

    def load_all(self) -> Parse[None]:
        """Read the files behind external links and virtual datasets, those behind theirs, and so on."""
        new = [self.main]
        for _ in range(MOST_GENERATIONS):
            wanted = [(file, name) for file in new for name in _external_names(file)]
            lists = yield from gather([_read_mappings(file) for file in new])
            patterns: list[tuple[File, Mapping]] = []
            for file, mappings in zip(new, lists, strict=True):
                for mapping in mappings if isinstance(mappings, list) else ():
                    if "%b" in mapping.file.replace("%%", ""):
                        patterns.append((file, mapping))
                    elif mapping.file != ".":
                        wanted.append((file, numbered(mapping.file, 0)))
            new = yield from self.load(dict.fromkeys(wanted))
            for file, mapping in patterns:
                new += yield from self._load_numbered(file, mapping)
            if not new:
                return

    def _load_numbered(self, parent: File, mapping: Mapping) -> Parse[list[File]]:
        """The files of a numbered pattern, a batch at a time, up to the first number that is missing."""
        new: list[File] = []
        for first in range(0, MOST_FILES, NUMBERED_AT_ONCE):
            names = [numbered(mapping.file, n) for n in range(first, first + NUMBERED_AT_ONCE)]
            new += yield from self.load([(parent, name) for name in names])
            if not all(self.exists(parent, name) for name in names):
                break
        return new

    def exists(self, parent: File, name: str) -> bool:
        return any(isinstance(self.infos.get(place), SourceInfo) for place in candidates(parent, name))


def _read_mappings(file: File) -> Parse[list[Mapping]]:
    """Decode the lists of a file's virtual datasets."""
    virtual: dict[int, Virtual] = {}
    for address, node in file.objects.items():
        if isinstance(node, Dataset) and isinstance(node.what.layout, Virtual):
            virtual[address] = node.what.layout
    if not virtual:
        return []
    reader = file.heaps.load([v.address for v in virtual.values() if v.address is not None])
    yield from reader if file.url is None else elsewhere(file.url, reader)
    found: list[Mapping] = []
    for address, layout in virtual.items():
        try:
            listed: list[Mapping] = []
            if layout.address is not None:
                listed = parse_mappings(file.form, file.heaps.get(layout.address, layout.object))
            file.mappings[address] = listed
            found += listed
        except FileFault as error:
            file.mappings[address] = error
        except MALFORMED as error:
            file.mappings[address] = CorruptFile(file.form.base, f"a damaged list of virtual mappings ({error})")
    return found


def _nothing() -> FileFault:
    return Unsupported(Reason.LINK, "a file that could not be read")


def _external_names(file: File) -> list[str]:
    names: dict[str, None] = {}
    for node in file.objects.values():
        if isinstance(node, H5Group):
            for link in node.links:
                if isinstance(link.target, External):
                    names[link.target.file] = None
    return list(names)


def candidates(parent: File, name: str) -> list[Stat]:
    """Where a file named in another one may be: an absolute path first as it is, then beside the other file.

    libhdf5's order without its environment variables (H5F_prefix_open_file). An absolute path in a file from a server
    is one of that server. The ask says who names it: a linked file from the network has no right to local files, even
    where the scanned one has.
    """
    by = parent.url if parent.url and "://" in parent.url else None
    folder = posixpath.dirname(parent.url) if parent.url else ""
    beside = posixpath.join(folder, posixpath.basename(name) if name.startswith("/") else name)
    if not name.startswith("/") and "://" not in name:
        return [Stat(beside, by)]
    return [Stat(name if by is None else join(by, name), by), Stat(beside, by)]
