"""The scanners of ZIP and tar archives: one group for each member, by its path."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas.scanning.parsers import gather
from byteatlas.scanning.plugins import installed
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import INCOMPLETE, refusal
from byteatlas.values import replace
from byteatlas_scanners.containers.inside import Archive, Surroundings, below
from byteatlas_scanners.containers.members import ContainedFile, MemberCodec, MemberTable, path_fault
from byteatlas_scanners.containers.packed import GZIP_CODEC, GZIP_MAGIC, Allowance, packed_scan
from byteatlas_scanners.containers.tar_format import is_tar, read_tar
from byteatlas_scanners.containers.zip_format import MAGIC as ZIP_MAGIC
from byteatlas_scanners.containers.zip_format import read_zip

ZARR = frozenset({"zarr.json", ".zgroup", ".zarray", ".zmetadata"})
AT_ONCE, BYTES_AT_ONCE = 512, 128 << 20
"""Members that are scanned side by side, and their compressed bytes."""


class ArchiveScanner(Scanner):
    """What the scanners of archives have in common.

    Args:
        scanners: that members are scanned with; None = all that are installed.
    """

    options = (
        Option("member", str, "", "scan only this member, which then is the root"),
        Option("format", str, "", "the format of the member; found by its first bytes if not given"),
    )

    def __init__(self, scanners: Mapping[str, Scanner] | None = None) -> None:
        self._scanners = scanners

    @abstractmethod
    def directory(self, size: int) -> Parse[MemberTable]:
        """The archive's members."""

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """A group for each member that a scanner knows; the others are refused in the report.

        Raises `CorruptFile` when the directory is damaged, `NotFound` for a member that is not there, `Unsupported` for
        a ZIP file that is a Zarr store.
        """
        own = chosen(self, options)
        directory = yield from self.directory(source.size or 0)
        known = installed() if self._scanners is None else self._scanners
        archive = Archive(source, directory, known, options)
        if own["member"]:
            member = directory.named(str(own["member"]), source.url)
            if member.fault is not None:
                raise member.fault
            return (yield from scanned(archive, member, Allowance(options), str(own["format"])))
        if ZARR & directory.members.keys():
            raise Unsupported(Reason.LAYOUT, "a Zarr store: open it (ba.open), it needs no map", source.url)
        return (yield from every_member(archive))


class ZipScanner(ArchiveScanner):
    """ZIP archives."""

    name = "zip"
    suffixes = (".zip",)

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(ZIP_MAGIC)

    def directory(self, size: int) -> Parse[MemberTable]:
        return (yield from read_zip(size))


class TarScanner(ArchiveScanner):
    """tar archives that are not compressed."""

    name = "tar"
    suffixes = (".tar",)

    def sniff(self, first: FirstBytes) -> bool:
        return is_tar(first.data)

    def directory(self, size: int) -> Parse[MemberTable]:
        return (yield from read_tar(size))


def scanned(archive: Archive, member: ContainedFile, left: Allowance, format: str = "") -> Parse[VirtualGroup]:
    """The scan of one member, with references into the archive. Raises `FileFault`."""
    if member.packing is not None:
        return (yield from packed_scan(archive, member, left, format))
    inside = Surroundings(archive, member)
    first = yield from inside.first()
    if first.data.startswith(GZIP_MAGIC):
        packed = replace(member, packing=MemberCodec(GZIP_CODEC, member.where))
        return (yield from packed_scan(archive, packed, left, format))
    if first.data.startswith(ZIP_MAGIC) or is_tar(first.data):
        where = f"{member.where.offset}, {member.where.length}"
        raise Unsupported(Reason.LAYOUT, f"an archive in an archive: scan it by itself, with window=({where})")
    return archive.placed((yield from inside.scan(format)))


def every_member(archive: Archive) -> Parse[VirtualGroup]:
    """All members of an archive, as groups by their paths."""
    report: list[ReportItem] = []
    sound: list[ContainedFile] = []
    for member in archive.directory.members.values():
        fault = path_fault(member.name) or member.fault
        if fault is None:
            sound.append(member)
        else:
            report.append(refusal(member.name, fault))
    tree, left = MemberTree(), Allowance(archive.options)
    for part in batches(sound):
        results = yield from gather([scanned(archive, member, left) for member in part])
        for member, found in zip(part, results, strict=True):
            try:
                if isinstance(found, FileFault):
                    raise found
                tree.put(member.name, found)
            except FileFault as error:
                report.append(refusal(member.name, error))
                continue
            report += below(member.name, found.report)
            if member.name in archive.directory.hidden:
                why = "earlier members of the same name are not presented"
                report.append(ReportItem(member.name, INCOMPLETE, Reason.NAME.value, why))
    report += [ReportItem("/", INCOMPLETE, Reason.CORRUPT.value, note) for note in archive.directory.notes]
    return replace(tree.group(), report=tuple(report))


def batches(members: Sequence[ContainedFile]) -> Iterator[list[ContainedFile]]:
    """Members that are scanned side by side: not too many, and not too many bytes that are unpacked."""
    batch: list[ContainedFile] = []
    held = 0
    for member in members:
        size = 0 if member.packing is None else max(member.where.length, member.packing.size or 0)
        if batch and (len(batch) >= AT_ONCE or held + size > BYTES_AT_ONCE):
            yield batch
            batch, held = [], 0
        batch.append(member)
        held += size
    if batch:
        yield batch


class MemberTree:
    """A group that is being filled: folders, and what members hold."""

    __slots__ = ("_below", "_member")

    def __init__(self, member: VirtualGroup | None = None) -> None:
        self._member = member
        self._below: dict[str, MemberTree] = {}

    def put(self, path: str, member: VirtualGroup) -> None:
        """A member at its path. Raises `Unsupported` when one of its folders is a member itself, or it is a folder."""
        branch = self
        for name in path.split("/"):
            if branch._member is not None:
                raise _clash()
            branch = branch._below.setdefault(name, MemberTree())
        if branch._below or branch._member is not None:
            raise _clash()
        branch._member = replace(member, report=())

    def group(self) -> VirtualGroup:
        """The tree. It is at most as deep as paths are allowed to be."""
        if self._member is not None:
            return self._member
        return VirtualGroup(groups={name: branch.group() for name, branch in self._below.items()})


def _clash() -> Unsupported:
    return Unsupported(Reason.NAME, "a folder and a member of one name")
