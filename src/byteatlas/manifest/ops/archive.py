"""References to members of zip and tar archives, replaced by byte ranges of the archive itself.

Members that are stored as they are lie in the archive byte for byte: ``zip://member::s3://bucket/all.zip`` and a range
become a range of ``s3://bucket/all.zip``, which any reader can fetch without reading the archive's directory.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote

import numpy as np

from byteatlas.errors import CorruptFile, FetchFailed, NotFound, Unsupported
from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.manifest.model import WHOLE, ChunkManifest, SourceInfo, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.types import Buffer, ByteRange

_LOCAL = struct.Struct("<4s22xHH")  # APPNOTE 4.3.7: signature, ..., length of the name, length of the extra field
_WINDOW = 1 << 18


class SourceFile(io.RawIOBase):
    """A source as a read-only file object, read through one window."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._size, self._at = source, source.size(), 0
        self._base, self._window = 0, memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        start = {0: 0, 1: self._at, 2: self._size}[whence]
        if start + offset < 0:
            raise OSError("before the beginning of the file")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        end = self._size if size is None or size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        if not (self._base <= self._at and end <= self._base + len(self._window)):
            length = min(max(_WINDOW, end - self._at), self._size - self._at)
            begin = self._at
            if length < _WINDOW:  # near the end of the file: directories are read backwards
                begin = max(0, self._size - _WINDOW)
                length = self._size - begin
            self._window, self._base = memoryview(self._source.read([ByteRange(begin, length)])[0]), begin
        data = bytes(self._window[self._at - self._base : end - self._base])
        self._at = end
        return data

    def readinto(self, buffer: Buffer, /) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        memoryview(buffer)[: len(data)] = data
        return len(data)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive; ``range`` None: its bytes are compressed or encrypted, ``why`` says how."""

    range: ByteRange | None
    why: str = ""


def zip_members(source: Source) -> Mapping[str, Callable[[], Member]]:
    """The members of a zip archive by name; where one lies is read from its local header when it is asked for.

    The local header's own extra field has a length of its own, so the directory alone cannot tell where data begin.
    """
    try:
        archive = zipfile.ZipFile(SourceFile(source))
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
        if isinstance(error, FetchFailed):
            raise
        raise CorruptFile(0, f"not a readable zip archive ({error})", source.url) from error
    return {info.filename: partial(_zip_member, source, info) for info in infos if not info.is_dir()}


def _zip_member(source: Source, info: zipfile.ZipInfo) -> Member:
    if info.compress_type != zipfile.ZIP_STORED:
        return Member(None, f"compressed (method {info.compress_type})")
    if info.flag_bits & 1:
        return Member(None, "encrypted")
    head = source.read([ByteRange(info.header_offset, _LOCAL.size)])[0]
    signature, name, extra = _LOCAL.unpack(head)
    if signature != b"PK\x03\x04":
        raise CorruptFile(info.header_offset, "no local header of a zip member", source.url)
    if info.file_size != info.compress_size:
        raise CorruptFile(info.header_offset, "a stored member with two sizes", source.url)
    begin = info.header_offset + _LOCAL.size + name + extra
    if begin + info.file_size > source.size():
        raise CorruptFile(begin, "a member reaches beyond the end of the archive", source.url)
    return Member(ByteRange(begin, info.file_size))


def tar_members(source: Source) -> Mapping[str, Callable[[], Member]]:
    """The members of an uncompressed tar archive by name (the last of a name counts, as when it is unpacked)."""
    try:
        with tarfile.TarFile(fileobj=SourceFile(source)) as archive:
            found = {m.name: m for m in archive.getmembers() if m.isreg()}
    except (tarfile.TarError, OSError, ValueError, struct.error) as error:
        if isinstance(error, FetchFailed):
            raise
        raise CorruptFile(0, f"not a readable tar archive ({error})", source.url) from error
    size = source.size()

    def member(info: tarfile.TarInfo) -> Member:
        if info.issparse():
            return Member(None, "sparse")
        if info.offset_data + info.size > size:
            raise CorruptFile(info.offset_data, "a member reaches beyond the end of the archive", source.url)
        return Member(ByteRange(info.offset_data, info.size))

    return {name: partial(member, info) for name, info in found.items()}


READERS: Mapping[str, Callable[[Source], Mapping[str, Callable[[], Member]]]] = {"zip": zip_members, "tar": tar_members}


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
        self._members: dict[tuple[str, SourceInfo], Mapping[str, Callable[[], Member]]] = {}

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
