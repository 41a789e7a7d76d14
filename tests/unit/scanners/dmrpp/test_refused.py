"""DMR++ documents with one wrong statement: what is refused and why, or what the whole document raises."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from tests.scanning import refusals, refuses

from byteatlas.errors import ByteatlasError, InvalidMetadata
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas_scanners.dmrpp import files
from byteatlas_scanners.dmrpp.document import Document, parsed
from byteatlas_scanners.dmrpp.files import DataFiles, named_files
from byteatlas_scanners.dmrpp.xml import integer

WHERE = "file:///d/a.h5.dmrpp"
HEAD = (
    '<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" '
    'name="a" dmrpp:href="{}">'
)
DATA = SourceInfo("file:///d/a.h5", 1000)


def built(inside: str, size: int | None = 1000) -> VirtualGroup:
    """The tree of a document with this in it; its data file has so many bytes."""
    root = parsed((HEAD.format("a.h5") + inside + "</Dataset>").encode(), WHERE)
    return Document(root, WHERE, DataFiles({None: SourceInfo(DATA.url, size), "b.h5": DATA})).tree()


def building(inside: str) -> Callable[[], object]:
    return lambda: built(inside)


DIMS = '<Dim size="4"/>'
ONE = '<dmrpp:chunk offset="0" nBytes="16"/>'


def variable(
    inside: str = ONE, *, about: str = "", dims: str = DIMS, kind: str = "Int32", more: str = "", name: str = "v"
) -> str:
    return f'<{kind} name="{name}">{dims}<dmrpp:chunks {about}>{inside}</dmrpp:chunks>{more}</{kind}>'


def chunked(*chunks: str, sizes: str = "2") -> str:
    return f"<dmrpp:chunkDimensionSizes>{sizes}</dmrpp:chunkDimensionSizes>" + "".join(
        f"<dmrpp:chunk {chunk}/>" for chunk in chunks
    )


FIRST = 'offset="0" nBytes="8" chunkPositionInArray="[0]"'
SECOND = 'offset="8" nBytes="8" chunkPositionInArray="[2]"'
STRETCH = "its bytes are not one contiguous stretch"


def compact(data: bytes | str, **fields: Any) -> str:
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    return variable("", more=f"<dmrpp:compact>{text}</dmrpp:compact>", **fields)


@pytest.mark.parametrize(
    ("inside", "reason", "detail"),
    [
        (variable(more="<dmrpp:chunks/>"), "layout", "more than one description of its chunks"),
        (variable(chunked(FIRST, sizes="2 2")), "corrupt", "chunks (2, 2) for shape (4,)"),
        (variable(chunked(FIRST, sizes="0")), "corrupt", "chunks (0,) for shape (4,)"),
        (variable(chunked(FIRST, sizes="x")), "corrupt", "'x' where a number is expected"),
        (compact(bytes(15)), "layout", "15 bytes of compact data where 16 are expected"),
        (compact(bytes(17)), "layout", "17 bytes of compact data where 16 are expected"),
        (compact(bytes(16), about='compressionType="shuffle"'), "layout",
         "16 bytes of compact data where 16 are expected"),
        (compact("not base64!"), "layout", "compact data that do not decode"),
        (compact("é"), "layout", "compact data that do not decode"),
        ('<Int32 name="v"><Dim size="4"/></Int32>', "layout", "its values are not described as chunks of a file"),
        (variable(about='LBIndex="0"'), "layout", "its values are not described as chunks of a file"),
        (variable(ONE + ONE), "layout", STRETCH),
        (variable(""), "layout", STRETCH),
        (variable('<dmrpp:chunk offset="0" nBytes="15"/>'), "layout", STRETCH),
        (variable('<dmrpp:chunk offset="985" nBytes="16"/>'), "corrupt",
         "file:///d/a.h5, byte 985: a chunk of 16 bytes lies outside of the file"),
        (variable(chunked(f'{FIRST} href="b.h5"', 'offset="993" nBytes="8" chunkPositionInArray="[2]" href="b.h5"')),
         "corrupt", "file:///d/a.h5, byte 993: a chunk of 8 bytes lies outside of the file"),
        (variable(chunked(f'offset="{(1 << 63) - 8}" nBytes="8" chunkPositionInArray="[0]"')), "corrupt",
         "an impossible byte range"),
        (variable(chunked(f'offset="{1 << 63}" nBytes="8" chunkPositionInArray="[0]"')), "corrupt",
         f"{1 << 63} is too large"),
        (variable(chunked('offset="-1" nBytes="8" chunkPositionInArray="[0]"')), "corrupt",
         "'-1' where a number is expected"),
        (variable(chunked('nBytes="8" chunkPositionInArray="[0]"')), "corrupt", "None where a number is expected"),
        (variable(chunked(FIRST + ' filterMask="1"')), "filter", "chunks that skip some of the filters"),
        (variable(chunked(FIRST + ' filter_mask="0x2"')), "filter", "chunks that skip some of the filters"),
        (variable(chunked(FIRST + ' LBIndex="0"')), "layout", "chunks in several blocks"),
        (variable(chunked(FIRST + ' linkedBlockIndex="1"')), "layout", "chunks in several blocks"),
        (variable(chunked(FIRST + ' SubBlockIndex="1"')), "layout", "chunks in several blocks"),
        (variable(chunked('offset="0" nBytes="8"')), "corrupt", "a chunk without a position"),
        (variable(chunked('offset="0" nBytes="8" chunkPositionInArray="0"')), "corrupt", "'0' is not a position"),
        (variable(chunked('offset="0" nBytes="8" chunkPositionInArray="[1]"')), "corrupt",
         "no chunk of (2,) begins at [1]"),
        (variable(chunked('offset="0" nBytes="8" chunkPositionInArray="[0,0]"')), "corrupt",
         "no chunk of (2,) begins at [0,0]"),
        (variable(chunked('offset="0" nBytes="8" chunkPositionInArray="[4]"')), "corrupt",
         "[4] is outside of the array"),
        (variable(chunked(FIRST, FIRST)), "corrupt", "two references for one chunk"),
        (variable(kind="Opaque"), "datatype", "DAP4 type Opaque"),
        (variable(kind="String"), "datatype", "DAP4 type String"),
        (variable(kind="String", more='<dmrpp:FixedLengthStringArray string_length="0"/>'), "datatype",
         "DAP4 type String"),
        (variable(kind="String", more=f'<dmrpp:FixedLengthStringArray string_length="{1 << 20}"/>'), "datatype",
         "DAP4 type String"),
        (variable(about='compressionType="deflate" deflateLevel="10"'), "filter", "deflate level '10'"),
        (variable(about='compressionType="deflate" deflateLevel="x"'), "filter", "deflate level 'x'"),
        (variable(about='compressionType="bzip2"'), "filter", "filter 'bzip2'"),
        (variable(about='fillValue="1.5"'), "datatype", "fill value '1.5' of type int32"),
        (variable(about=f'fillValue="{1 << 31}"'), "datatype", f"fill value '{1 << 31}' of type int32"),
        (variable(dims='<Dim name="/t"/>'), "corrupt", "unknown dimension '/t'"),
        (variable(dims='<Dim size="x"/>'), "corrupt", "'x' where a number is expected"),
    ],
)  # fmt: skip
def test_variables(inside: str, reason: str, detail: str) -> None:
    group = built(inside + variable(name="sound"))
    (found,) = [item for item in group.report if item.status == "refused"]
    assert (found.path, found.reason, found.detail) == ("v", reason, detail)
    assert set(group.arrays) == {"sound"}


def test_a_name_that_is_there_twice() -> None:
    group = built(variable() + variable('<dmrpp:chunk offset="16" nBytes="16"/>'))
    assert [(i.status, i.reason, i.detail) for i in group.report] == [
        ("virtual", None, ""), ("refused", "corrupt", "the name 'v' is there twice"),
    ]  # fmt: skip
    assert group.arrays["v"].manifest.load().offset.tolist() == [0]


def rows(inside: str, **size: int | None) -> list[tuple[int, int]]:
    manifest = built(inside, **size).arrays["v"].manifest.load()
    return list(zip(manifest.offset.tolist(), manifest.length.tolist(), strict=True))


def test_variables_that_are_sound() -> None:
    assert rows(variable(chunked(FIRST, SECOND))) == [(0, 8), (8, 8)]
    assert rows(variable('<dmrpp:chunk offset="984" nBytes="16"/>')) == [(984, 16)]
    assert rows(variable('<dmrpp:chunk offset="9999" nBytes="16"/>'), size=None) == [(9999, 16)]
    assert rows(variable(chunked('offset="0" nBytes="8" filterMask="0x0" chunkPositionInArray="[2]"'))) == [
        (0, 0),
        (0, 8),
    ]
    assert rows(variable(chunked(FIRST, 'fillValue="7" chunkPositionInArray="[2]"')))[1] == (0, 0)
    assert rows(variable('<dmrpp:chunk offset="0" nBytes="15"/>', about='compressionType="deflate"')) == [(0, 15)]
    assert built(compact(bytes(16))).arrays["v"].manifest.load().inlined == {0: bytes(16)}
    assert built(variable("", dims='<Dim size="0"/>')).arrays["v"].meta.shape == (0,)
    levels = (
        built(variable(about='compressionType="shuffle deflate deflate" deflateLevel="9 0"')).arrays["v"].meta.codecs
    )
    assert [c.configuration.get("level") for c in levels] == [None, None, 9, 0]
    wide = variable(kind="String", more=f'<dmrpp:FixedLengthStringArray string_length="{(1 << 20) - 1}"/>')
    assert built(wide).report[0].detail == STRETCH  # its type is known
    assert built(variable(about='fillValue="-2147483648"')).arrays["v"].meta.fill_value == -(1 << 31)


@refusals(
    (lambda: parsed(b"<a/>", "w"), InvalidMetadata("w", "not a DAP4 dataset")),
    (building('<Group name=""/>'), InvalidMetadata(WHERE, "'' is not a name, or is there twice")),
    (building('<Group name=".."/>'), InvalidMetadata(WHERE, "'..' is not a name, or is there twice")),
    (building('<Group name="a/b"/>'), InvalidMetadata(WHERE, "'a/b' is not a name, or is there twice")),
    (building('<Group name="a"/><Group name="a"/>'), InvalidMetadata(WHERE, "'a' is not a name, or is there twice")),
    (building(variable() + '<Group name="v"/>'), InvalidMetadata(WHERE, "'v' is not a name, or is there twice")),
    (building('<Dimension name="d" size="-1"/>'), InvalidMetadata("", "'-1' where a number is expected")),
    (
        building("".join(f'<Group name="g{n}">' for n in range(65)) + "</Group>" * 65),
        InvalidMetadata(WHERE, "more than 64 levels of groups"),
    ),
    (lambda: integer(None), InvalidMetadata("", "None where a number is expected")),
    (lambda: integer("١"), InvalidMetadata("", "'١' where a number is expected")),
    (lambda: integer("1" * 20), InvalidMetadata("", f"'{'1' * 20}' where a number is expected")),
    (lambda: integer(str(1 << 63)), InvalidMetadata("", f"{1 << 63} is too large")),
    (
        lambda: named_files(parsed((HEAD.format("") + "</Dataset>").encode(), "x"), "file:///a.xml", ""),
        InvalidMetadata("file:///a.xml", "it does not say where its data are"),
    ),
    (
        lambda: named_files(parsed((HEAD.format(files.PLACEHOLDER) + "</Dataset>").encode(), "x"), "file:///a.xml", ""),
        InvalidMetadata("file:///a.xml", "it does not say where its data are"),
    ),
)
def test_documents(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_the_number_of_files_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = variable(chunked(f'{FIRST} href="b.h5"', f'{SECOND} href="c.h5"'))
    root = parsed((HEAD.format("a.h5") + inside + "</Dataset>").encode(), WHERE)
    monkeypatch.setattr(files, "MOST_FILES", 3)
    assert set(named_files(root, WHERE, "")) == {None, "b.h5", "c.h5"}
    monkeypatch.setattr(files, "MOST_FILES", 2)
    refuses(InvalidMetadata(WHERE, "more than 2 data files"), lambda: named_files(root, WHERE, ""))


def test_numbers_and_levels_that_just_fit() -> None:
    assert integer(str((1 << 63) - 1)) == (1 << 63) - 1
    assert integer(" 7 ") == 7
    deep = "".join(f'<Group name="g{n}">' for n in range(64)) + "</Group>" * 64
    assert set(built(deep).groups) == {"g0"}
