"""Members that are compressed, and files that gzip packed.

They are unpacked in memory, up to a bound, to see their structure. A chunk that is the whole member is a reference to
the compressed bytes, with a codec that unpacks them; small arrays are copied into the map; all others are refused,
since no byte range leads into the middle of a compressed stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.io.sources.parts import CONSTANT
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import INLINE, WHOLE, ChunkManifest, ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas.scanning.parsers import one
from byteatlas.scanning.plugins import installed
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import refusal
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import replace
from byteatlas_scanners.containers.inside import Archive, Surroundings
from byteatlas_scanners.containers.members import ContainedFile, MemberCodec, directory_of

GZIP_MAGIC = b"\x1f\x8b\x08"
GZIP_CODEC = CodecSpec("numcodecs.gzip", {"level": 1})
MOST_PACKED, MOST_UNPACKED = 64 << 20, 256 << 20
"""Bytes of a compressed member, and of what it unpacks to."""
MOST_IN_ALL = 2 << 30
"""Bytes that the members of one archive unpack to."""
STEP = 64 << 10
HELP = "unpack it, or store it in the archive without compression"


class Allowance:
    """How much one scan may still unpack, and copy into the map."""

    __slots__ = ("inline", "unpacked")

    def __init__(self, options: ScanOptions) -> None:
        self.unpacked, self.inline = MOST_IN_ALL, options.max_inline

    def unpacking(self, packed: int, size: int) -> int:
        """The most bytes that a member may unpack to. Raises `Unsupported` when that is less than it says."""
        most = min(MOST_UNPACKED, self.unpacked)
        if packed > MOST_PACKED or size > most:
            raise too_large(max(packed, size))
        return most


def too_large(size: int) -> Unsupported:
    return Unsupported(Reason.COMPRESSED_MEMBER, f"{size} bytes and more, compressed: too large to look into; {HELP}")


def packed_scan(archive: Archive, member: ContainedFile, left: Allowance, format: str = "") -> Parse[VirtualGroup]:
    """The scan of a compressed member. Raises `Unsupported`, `CorruptFile`, and what its scanner raises."""
    packing = member.packing
    assert packing is not None
    most = left.unpacking(member.where.length, packing.size or 0)
    raw = yield from one(member.where)
    data = gunzip(raw, most, member) if packing.size is None else inflated(raw, packing, member)
    left.unpacked -= len(data)
    if data.startswith((GZIP_MAGIC, b"PK\x03\x04")) or data[257:262] == b"ustar":
        raise Unsupported(Reason.COMPRESSED_MEMBER, f"an archive in a compressed file: {HELP}")
    inside = Surroundings(archive, member, data)
    found = yield from inside.scan(format)
    return Repacking(archive, packing, inside.info.url, data, left).group(found)


def inflated(raw: Buffer, packing: MemberCodec, member: ContainedFile) -> bytes:
    """A deflated member of a ZIP archive. Raises `CorruptFile` unless it has the size and checksum that it should."""
    engine = zlib.decompressobj(-15)
    size = packing.size or 0
    try:
        data = engine.decompress(raw, size + 1)
    except zlib.error as error:
        raise CorruptFile(member.where.offset, f"the member does not inflate: {error}") from error
    if len(data) != size or not engine.eof or zlib.crc32(data) != packing.crc:
        raise CorruptFile(member.where.offset, "the member inflates to a wrong length or checksum")
    return data


def gunzip(raw: Buffer, most: int, member: ContainedFile) -> bytes:
    """What gzip packed, of one stream or several (RFC 1952 2.2). Raises `CorruptFile`, `Unsupported` (more bytes)."""
    view, at, room = memoryview(raw).cast("B"), 0, most
    parts: list[bytes] = []
    while at < len(view) and (not at or any(view[at : at + STEP])):  # zeros may fill a block up
        engine = zlib.decompressobj(31)
        while not engine.eof:
            if at >= len(view):
                raise CorruptFile(member.where.offset + at, "a gzip stream is cut off")
            piece = view[at : at + STEP]
            at += len(piece)
            try:
                parts.append(engine.decompress(piece, room + 1))
            except zlib.error as error:
                raise CorruptFile(member.where.offset + at, f"a gzip stream does not inflate: {error}") from error
            room -= len(parts[-1])
            if room < 0:
                raise too_large(most)
        at -= len(engine.unused_data)
    return b"".join(parts)


class Repacking:
    """References into an unpacked member, as what the compressed bytes allow."""

    def __init__(self, archive: Archive, packing: MemberCodec, url: str, data: bytes, left: Allowance) -> None:
        self._archive, self._packing, self._url, self._data, self._left = archive, packing, url, data, left

    def group(self, found: VirtualGroup) -> VirtualGroup:
        """The tree, with what cannot be referred to refused in the report."""
        report = {item.path: item for item in found.report}
        tree = self._group(found, "", report)
        return replace(tree, report=tuple(report.values()))

    def _group(self, found: VirtualGroup, path: str, report: dict[str, ReportItem]) -> VirtualGroup:
        arrays: dict[str, VirtualArray] = {}
        for name, array in found.arrays.items():
            full = path + name
            try:
                arrays[name], inlined = self._array(array)
                old = report.get(full)
                if inlined and old is not None:
                    report[full] = replace(old, status="inlined")
            except Unsupported as error:
                report[full] = refusal(full, error, report[full].locators if full in report else ())
        groups = {name: self._group(below, f"{path}{name}/", report) for name, below in found.groups.items()}
        return replace(found, arrays=arrays, groups=groups, report=())

    def _array(self, array: VirtualArray) -> tuple[VirtualArray, bool]:
        """The array, and whether its bytes are copied. Raises `Unsupported`."""
        manifest = array.manifest.load()
        stored = manifest.source >= 0
        if not stored.any():
            return array, False
        files = {f.url for info in manifest.sources for f in (info.files if isinstance(info, JoinedInfo) else (info,))}
        if files != {self._url}:
            raise Unsupported(Reason.COMPRESSED_MEMBER, f"a part of it is in another file; {HELP}")
        joined = any(isinstance(info, JoinedInfo) for info in manifest.sources)
        length = manifest.length[stored]
        whole = (manifest.offset[stored] == 0) & ((length == len(self._data)) | (length == WHOLE))
        if bool(whole.all()) and not joined:
            return self._behind_codec(array, manifest), False
        total = int(length.sum())
        if total > min(self._archive.options.inline_most, self._left.inline):
            raise Unsupported(Reason.COMPRESSED_MEMBER, f"{total} bytes of it are parts of a compressed stream; {HELP}")
        self._left.inline -= total
        return replace(array, manifest=self._inlined(manifest)), True

    def _behind_codec(self, array: VirtualArray, manifest: ChunkManifest) -> VirtualArray:
        """Chunks that are the whole member: the compressed bytes, unpacked by one codec more."""
        codec, where = self._packing.codec, self._packing.framed
        encodings = tuple([replace(e, codecs=(*e.codecs, codec)) for e in array.meta.encodings])
        stored = manifest.source >= 0
        moved = replace(
            manifest,
            sources=(self._archive.source,),
            source=np.where(stored, 0, manifest.source).astype(np.int32),
            offset=np.where(stored, where.offset, 0).astype(np.uint64),
            length=np.where(stored, where.length, 0).astype(np.uint64),
        )
        return replace(array, meta=replace(array.meta, encodings=encodings), manifest=moved)

    def _inlined(self, manifest: ChunkManifest) -> ChunkManifest:
        rows = np.flatnonzero(manifest.source >= 0).tolist()
        found = {row: self._bytes(manifest, row) for row in rows}
        column = manifest.source.copy()
        column[rows] = INLINE
        inlined: Mapping[int, bytes] = {**manifest.inlined, **found}
        return replace(manifest, sources=(), source=column, inlined=inlined)

    def _bytes(self, manifest: ChunkManifest, row: int) -> bytes:
        begin, length = int(manifest.offset[row]), int(manifest.length[row])
        info = manifest.sources[int(manifest.source[row])]
        if not isinstance(info, JoinedInfo) or info.columns is None:
            return self._part(self._data, ByteRange(begin, length))
        constant = info.columns.constant
        parts = info.columns.within(ByteRange(begin, length))
        return b"".join([self._part(constant if n == CONSTANT else self._data, part) for n, part in parts])

    @staticmethod
    def _part(data: bytes, where: ByteRange) -> bytes:
        if where.end > len(data):
            raise Unsupported(Reason.CORRUPT, "a chunk lies outside of the member")
        return data[where.offset : where.end]


class GzipScanner(Scanner):
    """Files that gzip packed (``.nc.gz``, ``.tif.gz``, ``.fits.gz``, ``.grib2.gz``)."""

    name = "gzip"
    suffixes = (".gz",)

    def __init__(self, scanners: Mapping[str, Scanner] | None = None) -> None:
        self._scanners = scanners

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(GZIP_MAGIC)

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """What the file's scanner finds when it is unpacked.

        Raises `Unsupported` when it is too large, or of no known format, and `CorruptFile`.
        """
        name = source.url.rpartition("/")[2].removesuffix(".gz") or "file"
        everything = ByteRange(0, source.size or 0)
        member = ContainedFile(name, everything, MemberCodec(GZIP_CODEC, everything))
        known = installed() if self._scanners is None else self._scanners
        archive = Archive(source, directory_of([member]), known, options)
        return (yield from packed_scan(archive, member, Allowance(options)))
