"""A ZIP file as a store. Nothing is ever extracted: members are read, by range where they are stored uncompressed.

Only the central directory is trusted for names and sizes; a member that inflates to anything else is an error.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence

from byteatlas.errors import BadRequest, CorruptFile, Unsupported
from byteatlas.io.local import LocalSource
from byteatlas.io.source import Source
from byteatlas.io.sources.file_object import open_file
from byteatlas.io.sources.layers import Coalescing
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.parts import SourceWindow
from byteatlas.store.base import check_key, check_size
from byteatlas.types import Buffer, ByteRange

# APPNOTE.TXT 4.3.7 "Local file header": signature, 22 bytes that the central directory has too, two lengths.
LOCAL_HEADER = struct.Struct("<4s22xHH")
SLACK = 512
"""Bytes fetched beyond a member's name, for extra fields that differ from the central directory's."""
HEADERS = 1 << 12
"""Members whose headers are read at once."""
MOST_MEMBER = 4 << 30
"""A member is never inflated to more than this."""


class ZipStore:
    """The members of a ZIP file, read-only."""

    __slots__ = ("_dirs", "_members", "_source", "_url")

    def __init__(self, source: Source) -> None:
        self._source, self._url = source, source.url
        try:
            with open_file(source) as file, zipfile.ZipFile(file) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, EOFError) as error:
            raise CorruptFile(0, f"no readable ZIP directory: {error}", source.url) from error
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._dirs: dict[str, set[str]] = {}
        for info in members:
            self._add(info)

    def _add(self, info: zipfile.ZipInfo) -> None:
        try:
            key = check_key(info.filename.rstrip("/"))
        except BadRequest:
            return  # a hostile or foreign name: no key reaches it
        if not info.is_dir():
            self._members[key] = info
        while key:
            folder, _, name = key.rpartition("/")
            known = self._dirs.setdefault(folder, set())
            if name in known:
                return
            known.add(name)
            key = folder

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return isinstance(self._source, (LocalSource, MemorySource))

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        return self.get_many([key], most)[0]

    at_once = 64

    def get_many(self, keys: Sequence[str], most: int | None = None, usual: int = 0) -> list[Buffer | None]:
        """Many members, in order; those that lie together cost one request."""
        found: list[Buffer | None] = [None] * len(keys)
        wanted = [(i, info) for i, key in enumerate(keys) if (info := self._members.get(key)) is not None]
        limit = MOST_MEMBER if most is None else min(MOST_MEMBER, most)
        for i, info in wanted:
            check_size(f"{self._url}/{keys[i]}", info.file_size, limit)
        source = Coalescing(self._source)
        ranges = [self._range(info, f"{self._url}/{keys[i]}") for i, info in wanted]
        for (i, info), data in zip(wanted, source.read(ranges) if ranges else [], strict=True):
            found[i] = self._plain(info, data, keys[i])
        return found

    def _range(self, info: zipfile.ZipInfo, name: str) -> ByteRange:
        """Where a member lies, with room for a header that is longer than it should be."""
        if info.flag_bits & 1:
            raise Unsupported("compression", "an encrypted ZIP member", name)
        length = LOCAL_HEADER.size + len(info.filename.encode()) + SLACK + info.compress_size
        left = self._source.size() - info.header_offset
        if left < 0:
            raise CorruptFile(
                info.header_offset, f"the directory places {name!r} beyond the end of the file", self._url
            )
        return ByteRange(info.header_offset, min(length, left))

    def _plain(self, info: zipfile.ZipInfo, data: Buffer, key: str) -> Buffer:
        """A member's value from the bytes it was fetched with."""
        name = f"{self._url}/{key}"
        skip = self._header(data, name)
        packed = memoryview(data)[skip : skip + info.compress_size]
        if len(packed) < info.compress_size:  # an unusually long header
            packed = memoryview(self._read(info.header_offset + skip, info.compress_size, name))
        if len(packed) < info.compress_size:
            raise CorruptFile(info.header_offset, "a member runs past the end of the file", self._url)
        if info.compress_type == zipfile.ZIP_STORED:
            plain: Buffer = packed
        elif info.compress_type == zipfile.ZIP_DEFLATED:
            plain = self._inflate(packed, info, name)
        else:
            raise Unsupported("compression", f"ZIP compression method {info.compress_type}", name)
        if len(plain) != info.file_size or zlib.crc32(plain) != info.CRC:
            raise CorruptFile(info.header_offset, f"member {key!r} has a wrong length or checksum", self._url)
        return plain

    def source(self, key: str) -> Source | None:
        info = self._members.get(key)
        if info is None:
            return None
        name = f"{self._url}/{key}"
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            return MemorySource(self.get(key) or b"", name)
        head = self._read(info.header_offset, LOCAL_HEADER.size, name)
        return SourceWindow(self._source, info.header_offset + self._header(head, name), info.compress_size, name)

    def places(self, prefix: str) -> Iterator[tuple[str, ByteRange]]:
        """The keys below an array, without its path, and where in the ZIP file their bytes lie; metadata
        documents are left out.

        Raises:
            Unsupported: a member that is compressed or encrypted, whose bytes are not those of the value.
            CorruptFile: a member is not where the directory says.
        """
        head = f"{prefix}/" if prefix else ""
        found = [(key[len(head) :], info) for key, info in self._members.items() if key.startswith(head)]
        wanted = [(key, info) for key, info in found if not key.startswith((".z", "zarr.json"))]
        source = Coalescing(self._source)
        for begin in range(0, len(wanted), HEADERS):
            some = wanted[begin : begin + HEADERS]
            for key, info in some:
                if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
                    raise Unsupported("compression", f"the ZIP member {key!r} is compressed or encrypted", prefix)
            heads = source.read([ByteRange(info.header_offset, LOCAL_HEADER.size) for _, info in some])
            for (key, info), data in zip(some, heads, strict=True):
                place = info.header_offset + self._header(data, f"{self._url}/{head}{key}")
                if place + info.file_size > self._source.size():
                    raise CorruptFile(place, f"the member {key!r} runs past the end of the file", self._url)
                yield key, ByteRange(place, info.file_size)

    @property
    def archive(self) -> Source:
        """The ZIP file itself."""
        return self._source

    def names(self, prefix: str) -> Sequence[str]:
        return sorted(self._dirs.get(prefix, ()))

    def _read(self, offset: int, length: int, name: str) -> Buffer:
        length = min(length, self._source.size() - offset)
        if length < 0:
            raise CorruptFile(offset, f"the directory places {name!r} beyond the end of the file", self._url)
        return self._source.read([ByteRange(offset, length)])[0]

    def _header(self, data: Buffer, name: str) -> int:
        if len(data) < LOCAL_HEADER.size:
            raise CorruptFile(0, f"{name!r} has no local header", self._url)
        signature, names, extra = LOCAL_HEADER.unpack_from(data)
        if signature != b"PK\x03\x04":
            raise CorruptFile(0, f"{name!r} has no local header", self._url)
        return LOCAL_HEADER.size + int(names) + int(extra)

    def _inflate(self, data: Buffer, info: zipfile.ZipInfo, name: str) -> bytes:
        engine = zlib.decompressobj(-15)
        try:
            plain = engine.decompress(data, info.file_size + 1)
        except zlib.error as error:
            raise CorruptFile(info.header_offset, f"{name!r} does not inflate: {error}", self._url) from error
        return plain
