"""netCDF-3 headers with one wrong field: the error, its place and its words; and what just passes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from tests.scanning import refusals, refuses, run, scan_bytes

from byteatlas.errors import ByteatlasError, CorruptFile
from byteatlas_scanners.netcdf3 import SCANNER, header
from byteatlas_scanners.netcdf3.header import Header, parse_header, read_header

SIZE = 4096


def u4(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def name(text: bytes) -> bytes:
    return u4(len(text)) + text + bytes(-len(text) % 4)


def listing(tag: int, *items: bytes, count: int | None = None) -> bytes:
    return u4(tag if items or count is not None else 0, len(items) if count is None else count) + b"".join(items)


def dimension(text: bytes, length: int) -> bytes:
    return name(text) + u4(length)


def attribute(text: bytes = b"a", kind: int = 4, count: int = 1, data: bytes = bytes(4)) -> bytes:
    return name(text) + u4(kind, count) + data


def variable(
    text: bytes = b"v", ids: tuple[int, ...] = (0,), kind: int = 4, begin: int = 1024, rank: int | None = None
) -> bytes:
    axes = u4(len(ids) if rank is None else rank, *ids)
    return name(text) + axes + u4(0, 0) + u4(kind, 0, begin)


DIMS = listing(10, dimension(b"x", 3))


def whole(
    *variables: bytes, dims: bytes = DIMS, attributes: bytes = bytes(8), magic: bytes = b"CDF\1", records: int = 0
) -> bytes:
    return magic + u4(records) + dims + attributes + listing(11, *variables)


def parsed(data: bytes, size: int = SIZE) -> Callable[[], Header]:
    return lambda: parse_header(memoryview(data.ljust(size, b"\0")), size)


END = len(whole(variable()))
HEAD = 8 + len(DIMS) + 8 + 8
"""Where the first variable's description begins."""


@refusals(
    (parsed(b"CDX\1"), CorruptFile(0, "not a netCDF classic file (begins b'CDX\\x01')")),
    (parsed(b"CDF\3"), CorruptFile(0, "not a netCDF classic file (begins b'CDF\\x03')")),
    (parsed(b"CDF\1" + u4(0, 11, 0)), CorruptFile(16, "the list of dimensions has tag 11, not 10")),
    (parsed(b"CDF\1" + u4(0, 0, 1)), CorruptFile(16, "the list of dimensions has tag 0, not 10")),
    (parsed(b"CDF\1" + u4(0, 10, 513)), CorruptFile(16, "513 dimensions do not fit into 4096 bytes")),
    (parsed(b"CDF\1" + u4(0, 10, 1, 4081)), CorruptFile(20, "the header ends beyond the end of the file (4096 bytes)")),
    (parsed(whole(dims=listing(10, dimension(b"\xff", 3)))), CorruptFile(16, "the name b'\\xff' is not UTF-8")),
    (parsed(whole(attributes=listing(12, attribute(kind=12)))), CorruptFile(44, "unknown type 12")),
    (parsed(whole(attributes=listing(12, attribute(kind=0)))), CorruptFile(44, "unknown type 0")),
    (parsed(whole(attributes=listing(11, attribute()))), CorruptFile(36, "the list of attributes has tag 11, not 12")),
    (parsed(whole(variable(kind=12))), CorruptFile(HEAD + 24, "unknown type 12")),
    (parsed(whole(variable(ids=(1,)))), CorruptFile(HEAD, "variable 'v' has a dimension that does not exist")),
    (
        parsed(whole(variable(rank=1025))),
        CorruptFile(HEAD + 12, "a variable of 1025 dimensions does not fit into 4096 bytes"),
    ),
    (
        parsed(whole(variable(ids=(0, 1)), dims=listing(10, dimension(b"x", 3), dimension(b"t", 0)))),
        CorruptFile(HEAD + 12, "variable 'v' has the record dimension in another place than the first"),
    ),
    (
        parsed(whole(variable(), variable())),
        CorruptFile(END + len(variable()), "two variables have the same name"),
    ),
    (
        parsed(whole(variable(begin=END - 1))),
        CorruptFile(END, f"variable 'v' begins at byte {END - 1}, inside the header"),
    ),
    (
        parsed(whole(variable(), variable(b"w"), dims=listing(10, dimension(b"x", 1 << 29)))),
        CorruptFile(END + len(variable()), "variable 'v' is larger than this version of the format allows"),
    ),
    (
        parsed(whole(variable(), variable(b"w", (1,)), dims=listing(10, dimension(b"x", 1 << 29), dimension(b"t", 0)))),
        CorruptFile(END + len(variable()) + 12, "variable 'v' is larger than this version of the format allows"),
    ),
)  # fmt: skip
def test_headers(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_headers_that_are_sound() -> None:
    (found,) = parsed(whole(variable(begin=END)))().variables
    assert (found.shape, found.begin, found.slab) == ((3,), END, 12)
    assert parsed(b"CDF\1" + u4(0, 10, 1, 4) + b"name" + u4(7))().variables == ()
    assert parsed(whole(variable(ids=(), begin=END)))().variables[0].shape == ()
    large = listing(10, dimension(b"x", (1 << 29) - 1))
    assert len(parsed(whole(variable(), variable(b"w"), dims=large))().variables) == 2  # as large as may be
    last = listing(10, dimension(b"x", 1 << 29), dimension(b"y", 1))
    found = parsed(whole(variable(b"w", (1,)), variable(), dims=last))().variables[1]
    assert found.slab == 1 << 31
    text = listing(12, attribute(kind=2, count=3, data=b"ab\0\0"))
    assert parsed(whole(attributes=text))().attributes == {"a": "ab"}


def test_the_size_of_a_header_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer than the first read: as much again is asked for, up to a limit."""
    data = whole(attributes=listing(12, *[attribute(b"%04d" % n) for n in range(500)]))
    assert len(data) > header.FIRST_READ
    assert len(run(read_header(len(data)), data).attributes) == 500
    monkeypatch.setattr(header, "LARGEST_HEADER", len(data))
    assert len(run(read_header(len(data) + 9), data + bytes(9)).attributes) == 500
    monkeypatch.setattr(header, "LARGEST_HEADER", len(data) - 1)
    why = f"the header is larger than {len(data) - 1} bytes"
    refuses(CorruptFile(len(data) - 1, why), lambda: run(read_header(len(data) + 9), data + bytes(9)))


def said(data: bytes) -> list[tuple[str | None, str]]:
    return [(item.reason, item.detail) for item in scan_bytes(SCANNER, data).report]


@pytest.mark.parametrize(("rank", "reason"), [(64, None), (65, "dataspace")])
def test_axes(rank: int, reason: str | None) -> None:
    data = whole(variable(ids=(0,) * rank), dims=listing(10, dimension(b"x", 1))).ljust(SIZE, b"\0")
    assert said(data) == [(reason, f"{rank} dimensions; at most 64 are possible" if reason else "")]


def test_data_behind_the_end() -> None:
    short = whole(variable(begin=END)).ljust(END + 11, b"\0")
    assert said(short) == [("corrupt", f"byte {END}: its data end at byte {END + 12}, the file at byte {END + 11}")]
    assert said(short + b"\0") == [(None, "")]
    growing = whole(variable(begin=END), dims=listing(10, dimension(b"x", 0)), records=3).ljust(END + 11, b"\0")
    why = f"byte {END}: its data end at byte {END + 12}, the file at byte {END + 11}; 2 of 3 records are whole"
    assert said(growing) == [("corrupt", why)]
