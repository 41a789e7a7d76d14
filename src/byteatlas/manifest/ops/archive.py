"""References to members of zip and tar archives, replaced by byte ranges of the archive itself.

Members that are stored as they are lie in the archive byte for byte: ``zip://member::s3://bucket/all.zip`` and a range
become a range of ``s3://bucket/all.zip``, which any reader can fetch without reading the archive's directory.
"""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import unquote

import numpy as np

from byteatlas.errors import CorruptFile, FetchFailed, NotFound, Unsupported
from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.file_object import open_file
from byteatlas.manifest.model import WHOLE, ChunkManifest, SourceInfo, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.types import ByteRange
from byteatlas.values import dataclass, replace

_LOCAL = struct.Struct("<4s22xHH")  # APPNOTE 4.3.7: signature, ..., length of the name, length of the extra field


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A member of an archive; ``range`` None: its bytes are compressed or encrypted, ``why`` says how."""

    range: ByteRange | None
    why: str = ""


def zip_members(source: Source) -> Mapping[str, Callable[[], ArchiveMember]]:
    """The members of a zip archive by name; where one lies is read from its local header when it is asked for.

    The local header's own extra field has a length of its own, so the directory alone cannot tell where data begin.
    """
    try:
        with open_file(source) as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
        if isinstance(error, FetchFailed):
            raise
        raise CorruptFile(0, f"not a readable zip archive ({error})", source.url) from error
    return {info.filename: partial(_zip_member, source, info) for info in infos if not info.is_dir()}


def _zip_member(source: Source, info: zipfile.ZipInfo) -> ArchiveMember:
    if info.compress_type != zipfile.ZIP_STORED:
        return ArchiveMember(None, f"compressed (method {info.compress_type})")
    if info.flag_bits & 1:
        return ArchiveMember(None, "encrypted")
    head = source.read([ByteRange(info.header_offset, _LOCAL.size)])[0]
    signature, name, extra = _LOCAL.unpack(head)
    if signature != b"PK\x03\x04":
        raise CorruptFile(info.header_offset, "no local header of a zip member", source.url)
    if info.file_size != info.compress_size:
        raise CorruptFile(info.header_offset, "a stored member with two sizes", source.url)
    begin = info.header_offset + _LOCAL.size + name + extra
    if begin + info.file_size > source.size():
        raise CorruptFile(begin, "a member reaches beyond the end of the archive", source.url)
    return ArchiveMember(ByteRange(begin, info.file_size))


def tar_members(source: Source) -> Mapping[str, Callable[[], ArchiveMember]]:
    """The members of an uncompressed tar archive by name (the last of a name counts, as when it is unpacked).

    tarfile itself refuses an archive that ends before its last member does.
    """
    try:
        with open_file(source) as file, tarfile.TarFile(fileobj=file) as archive:
            found = {m.name: m for m in archive.getmembers() if m.isreg()}
    except (tarfile.TarError, OSError, ValueError, struct.error) as error:
        if isinstance(error, FetchFailed):
            raise
        raise CorruptFile(0, f"not a readable tar archive ({error})", source.url) from error

    def member(info: tarfile.TarInfo) -> ArchiveMember:
        if info.issparse():
            return ArchiveMember(None, "sparse")
        return ArchiveMember(ByteRange(info.offset_data, info.size))

    return {name: partial(member, info) for name, info in found.items()}


READERS: Mapping[str, Callable[[Source], Mapping[str, Callable[[], ArchiveMember]]]] = {
    "zip": zip_members,
    "tar": tar_members,
}


def split_member(url: str) -> tuple[str, str, str] | None:
    """(protocol, member, archive URL) of ``zip://member::archive``; None for any other URL.

    >>> split_member("zip://a/b.nc::s3://bucket/all.zip")
    ('zip', 'a/b.nc', 's3://bucket/all.zip')
    """
    head, mark, outer = url.partition("::")
    protocol, colon, member = head.partition("://")
    if not mark or not colon or protocol not in READERS or not outer:
        return None
    return protocol, member.lstrip("/"), outer.removeprefix("file://") if outer.startswith("file:///") else outer


class Archives:
    """Members of archives found so far: each archive's directory is read once."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._members: dict[tuple[str, SourceInfo], Mapping[str, Callable[[], ArchiveMember]]] = {}

    def locate(self, protocol: str, member: str, outer: SourceInfo) -> ByteRange:
        """Where a member's bytes lie in its archive.

        Raises:
            NotFound: no such member.
            Unsupported: it is compressed or encrypted.
        """
        key = (protocol, outer)
        if key not in self._members:
            self._members[key] = READERS[protocol](opened(self._opener, outer))
        members = self._members[key]
        name = member if member in members else unquote(member)
        if name not in members:
            raise NotFound(f"{outer.url} has no member {member!r}")
        found = members[name]()
        if found.range is None:
            raise Unsupported("archive-member", f"{member!r} is {found.why} in {outer.url}")
        return found.range


def dereference_archives(node: VirtualNode, opener: Opener) -> VirtualNode:
    """The tree with references to archive members replaced by byte ranges of the archives.

    Raises:
        NotFound: an archive has no such member.
        Unsupported: a member is compressed or encrypted.
        CorruptFile: an archive is damaged, or a reference reaches beyond its member.
    """
    archives = Archives(opener)

    def array(path: str, old: VirtualArray) -> VirtualArray:
        columns = old.manifest.load()
        used = np.unique(columns.source[columns.source >= 0]).tolist()
        if not any(split_member(columns.sources[i].url) for i in used):
            return old
        return VirtualArray(old.meta, _moved(columns, used, archives))

    return map_arrays(node, array)


def _moved(columns: ChunkManifest, used: list[int], archives: Archives) -> ChunkManifest:
    offset, length, sources = columns.offset.copy(), columns.length.copy(), list(columns.sources)
    for number in used:
        parts = split_member(sources[number].url)
        if parts is None:
            continue
        outer = SourceInfo(parts[2], foreign=sources[number].foreign)
        where = archives.locate(*parts[:2], outer)
        mine = columns.source == number
        whole = mine & (length == WHOLE)
        length[whole] = where.length
        if bool((offset[mine] + length[mine] > np.uint64(where.length)).any()):
            raise CorruptFile(where.offset, f"a reference reaches beyond the member {parts[1]!r}", parts[2])
        offset[mine] += np.uint64(where.offset)
        sources[number] = outer
    return replace(columns, offset=offset, length=length, sources=tuple(sources))
