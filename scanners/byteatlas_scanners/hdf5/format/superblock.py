"""The superblock and its extension (format specification II.A): where the file begins and how wide its fields are."""

from __future__ import annotations

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Ahead, Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.types import ByteRange
from byteatlas.values import dataclass, replace
from byteatlas_scanners.hdf5.format.header import Message, ObjectHeader, read_header
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, verify

SIGNATURE = b"\x89HDF\r\n\x1a\n"

BTREE_K, SHARED_TABLE, DRIVER_INFO, SPACE_INFO, CACHE_IMAGE = 0x13, 0x0F, 0x14, 0x17, 0x18

_MARKED_FOR_WRITING = 0x01 | 0x04
_KNOWN_FLAGS = 0x07
BY_PAGES = 1
"""Of the strategies to hand out file space: metadata and data in pages of one size."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where the tree of objects begins.

    Attributes:
        root: address of the root group's object header.
        cached: (B-tree, local heap) addresses of an old-style root group, from its symbol table entry, or None.
    """

    form: Form
    root: int


def places(limit: int) -> list[int]:
    """Where a superblock may be: 0, 512, 1024, 2048, ... below ``limit`` bytes.

    >>> places(3000)
    [0, 512, 1024, 2048]
    """
    found, at = [0], 512
    while at < limit:
        found.append(at)
        at *= 2
    return found


def sniff(head: bytes) -> bool:
    """Whether a superblock begins at one of its places within these first bytes."""
    return any(head[at : at + 8] == SIGNATURE for at in places(len(head)))


def search(source: SourceInfo) -> Parse[int | None]:
    """The byte at which the superblock begins, None when there is none."""
    size = source.size or 0
    spots = [at for at in places(size) if at + 8 <= size]
    answers = buffers((yield [ByteRange(at, 8) for at in spots]))
    return next((at for at, data in zip(spots, answers, strict=True) if bytes(data) == SIGNATURE), None)


def find(source: SourceInfo) -> Parse[int]:
    """The byte at which the superblock begins. Raises `CorruptFile` when there is none."""
    at = yield from search(source)
    if at is None:
        raise CorruptFile(0, "no HDF5 signature")
    return at


def read_start(source: SourceInfo) -> Parse[Start]:
    """Read the superblock, and its extension if there is one.

    Raises `CorruptFile`, or `Unsupported` for files that are one part of several (family, multi and split drivers).
    """
    size = source.size or 0
    (head,) = buffers((yield (ByteRange(0, min(size, 2048)),)))
    head = bytes(head)
    base = next((at for at in places(len(head)) if head[at : at + 8] == SIGNATURE), None)
    if base is None:
        base = yield from find(source)
        (head,) = buffers((yield (ByteRange(base, min(size - base, 512)),)))
        head = bytes(head)
    else:
        head = head[base:]
    if len(head) < 16:
        raise CorruptFile(base, "the superblock is cut off")
    version = head[8]
    if version in (0, 1):
        return (yield from _old(source, base, head, version))
    if version in (2, 3):
        return (yield from _new(source, base, head, version))
    raise Unsupported("superblock", f"superblock version {version} is not known")


def _form(source: SourceInfo, base: int, offsets: int, lengths: int) -> Form:
    if offsets not in (2, 4, 8) or lengths not in (2, 4, 8):
        raise CorruptFile(base + 9, f"addresses of {offsets} and lengths of {lengths} bytes")
    return Form(source, base, (source.size or 0) - base, offsets, lengths, (1 << (8 * offsets)) - 1)


def _old(source: SourceInfo, base: int, head: bytes, version: int) -> Parse[Start]:
    form = _form(source, base, head[13], head[14])
    cursor = Cursor(form, head, 16)
    leaf_k, group_k = cursor.u16(), cursor.u16()
    if cursor.u32() & ~_KNOWN_FLAGS:  # nothing is locked by them in these versions
        raise CorruptFile(base, "a superblock with unknown flags")
    chunk_k = cursor.u16() if version == 1 else 32
    if version == 1:
        cursor.skip(2)
    if head[9] or head[10] or head[12] or not (leaf_k and group_k and chunk_k):
        raise CorruptFile(base + 9, "a superblock with impossible fields")
    stored_base, space, end, driver = cursor.address(), cursor.address(), cursor.address(), cursor.address()
    if space is not None:
        raise CorruptFile(base, "a superblock with a field that these versions do not have")
    cursor.skip(form.lengths)  # offset of the root's name
    root, cache = cursor.address(), cursor.u32()
    if cache > 1:
        raise CorruptFile(base, "a root group of unknown kind")
    form = _ended(form, end, stored_base)
    form = replace(form, leaf_k=leaf_k, group_k=group_k, chunk_k=chunk_k)
    if driver is not None:
        (block,) = buffers((yield (form.block(driver, 16),)))
        _refuse_driver(bytes(block[8:16]))
    if root is None:
        raise CorruptFile(base, "no root group")
    return Start(form, root)


def _new(source: SourceInfo, base: int, head: bytes, version: int) -> Parse[Start]:
    form = _form(source, base, head[9], head[10])
    cursor = Cursor(form, head, 12)
    stored_base, extension, end, root = cursor.address(), cursor.address(), cursor.address(), cursor.address()
    verify(head[: cursor.at + 4], base, "the superblock")
    if head[11] & ~_KNOWN_FLAGS:
        raise CorruptFile(base + 11, "a superblock with unknown flags")
    if version == 3 and head[11] & _MARKED_FOR_WRITING:
        raise CorruptFile(base + 11, "the file is marked as open for writing (h5clear removes the mark)")
    bounded = _ended(form, end, stored_base)
    if root is None:
        raise CorruptFile(base, "no root group")
    if extension is not None:
        header = yield from read_header(form, extension)
        form = _extended(form, header)
        if any(_persists(message) for message in header.messages):
            bounded = form  # free space is kept behind the recorded end
        form = replace(form, size=bounded.size)
        page = _page_size(form, header)
        if page:  # structures are in pages of their own, and the first one is such a page
            yield (Ahead(base, page),)
    else:
        form = bounded
    return Start(form, root)


def _ended(form: Form, end: int | None, stored_base: int | None) -> Form:
    """With the end recorded in the file: nothing behind it counts.

    A file that ends earlier has lost data (libhdf5 does not open it either).
    """
    if end is None or stored_base is None or not 0 < end - stored_base <= form.size:
        raise CorruptFile(form.base, f"truncated: {form.base + form.size} bytes of {end}")
    return replace(form, size=end - stored_base)


def _extended(form: Form, header: ObjectHeader) -> Form:
    for message in header.messages:
        cursor = Cursor(form, message.body)
        if message.type == BTREE_K:
            cursor.skip(1)
            chunk_k, group_k, leaf_k = cursor.u16(), cursor.u16(), cursor.u16()
            if not (chunk_k and group_k and leaf_k):
                raise CorruptFile(form.base + header.address, "B-trees of rank 0")
            form = replace(form, chunk_k=chunk_k, group_k=group_k, leaf_k=leaf_k)
        elif message.type == SHARED_TABLE:
            cursor.skip(1)
            form = replace(form, shared_table=cursor.address(), shared_indexes=cursor.u8())
        elif message.type == DRIVER_INFO:
            cursor.skip(1)
            _refuse_driver(cursor.take(8))
        elif message.type == SPACE_INFO:
            _check_space_info(form, cursor)
        elif message.type == CACHE_IMAGE:
            cursor.skip(1)
            if cursor.address() is not None:  # structures are in the image, not where their addresses say
                raise Unsupported("cache-image", "the file's metadata are in a cache image (h5repack removes it)")
    return form


def _persists(message: Message) -> bool:
    """Whether free space is kept in the file, behind its recorded end too."""
    return message.type == SPACE_INFO and message.body[:1] == b"\1" and message.body[2:3] != b"\0"


def _check_space_info(form: Form, cursor: Cursor) -> None:
    """Where free space is managed; nothing that reading needs, but libhdf5 refuses a file without its fields."""
    version, strategy = cursor.u8(), cursor.u8()
    if version == 1:
        persistent = cursor.u8()
        cursor.take(2 * form.lengths + 2 + form.offsets + (12 * form.offsets if persistent else 0))
    elif version == 0:
        cursor.take(form.lengths + (6 * form.offsets if strategy == 1 else 0))


def _page_size(form: Form, header: ObjectHeader) -> int:
    """Bytes of a page, in files whose space is handed out by pages (as cloud-optimised ones are); else 0.

    Format specification IV.A.2.x, the File Space Info message.
    """
    for message in header.messages:
        cursor = Cursor(form, message.body)
        if message.type == SPACE_INFO and cursor.u8() == 1 and cursor.u8() == BY_PAGES:
            cursor.skip(1 + form.lengths)  # whether free space is kept, and from what size on
            return cursor.length()
    return 0


def _refuse_driver(name: bytes) -> None:
    text = name.rstrip(b"\0").decode("latin-1")
    raise Unsupported("driver", f"the file is one part of several (driver {text!r})")
