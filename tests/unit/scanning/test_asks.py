"""Each kind of ask: what it is answered by, what is a fault of the file, what ends the scan."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteatlas.errors import Absent, CorruptChunk, CorruptFile, FetchFailed, FileFault, Forbidden, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.io.source import Source
from byteatlas.io.sources.faults import failure
from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import Ahead, Elsewhere, Parse, Stat, Whole
from byteatlas.scanning.driver import run
from byteatlas.scanning.parsers import ahead, all_of, both, decoded, elsewhere, one, read, settle, stat, whole, within
from byteatlas.types import Buffer, ByteRange

DATA = bytes(range(256)) * 16


def on_data(parser: Parse[Any], url: str = "memory://files/main", opener: Any = None) -> Any:
    return run(parser, MemorySource(DATA, url), opener or SourcePool())


class Failing:
    """A file that fails in one way, whatever is asked."""

    def __init__(self, url: str, error: Exception, cause: BaseException | None = None) -> None:
        self.url, self.error, self.cause = url, error, cause

    def size(self) -> int:
        raise self.error from self.cause

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        raise self.error from self.cause

    def read_all(self) -> Buffer:
        raise self.error from self.cause


def failing(error: Exception, cause: BaseException | None = None) -> Any:
    def opened(url: str) -> Source:
        return Failing(url, error, cause)

    return opened


class Status(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


def test_each_ask_has_an_answer_of_its_own() -> None:
    found = on_data(settle([ByteRange(0, 2), ByteRange(5000, 2), ByteRange(-1, 2), ByteRange(4, 1)]))
    assert [bytes(f) if not isinstance(f, FileFault) else type(f) for f in found] == [
        b"\0\1",
        CorruptFile,
        CorruptFile,
        b"\4",
    ]


def test_what_is_too_much_in_one_step_is_the_largest_asks_fault() -> None:
    found = on_data(settle([ByteRange(0, 4096)] * 524_289 + [ByteRange(7, 1)]))
    assert bytes(found[-1]) == b"\7"
    assert sum(isinstance(f, CorruptFile) for f in found) == 2


def test_whole_files(tmp_path: Path) -> None:
    (tmp_path / "side.json").write_bytes(b"{}")
    main = str(tmp_path / "main")
    assert bytes(on_data(whole("side.json"), main)) == b"{}"
    assert on_data(whole("none.json", optional=True), main) is None
    with pytest.raises(Absent, match=r"none\.json"):
        on_data(whole("none.json"), main)
    with pytest.raises(Unsupported, match="2 bytes, more than 1"):
        on_data(whole("side.json", most=1), main)
    assert on_data(whole(str(tmp_path), optional=True), main) is None  # a folder


@pytest.mark.parametrize("cause", [Status(404), Status(410), FileNotFoundError("x")])
def test_an_optional_file_that_the_storage_does_not_have_is_not_there(cause: BaseException) -> None:
    opener = failing(failure("s3://b/side", cause), cause)
    assert on_data(whole("s3://b/side", optional=True), opener=opener) is None
    with pytest.raises(Absent):
        on_data(whole("s3://b/side"), opener=opener)


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("cause", [Status(401), Status(403), PermissionError("no")])
def test_a_file_that_the_storage_does_not_give_out_is_not_known_to_be_absent(
    cause: BaseException, optional: bool
) -> None:
    opener = failing(failure("s3://b/side", cause), cause)
    with pytest.raises(Forbidden, match="denies access"):
        on_data(whole("s3://b/side", optional=optional), opener=opener)


def test_what_the_policy_forbids_is_not_taken_for_absent() -> None:
    pool = SourcePool(policy=Policy(allow=("/data",)))
    for parser in (
        whole("/etc/passwd", optional=True),
        stat("/etc/passwd"),
        one(Elsewhere("/etc/passwd", ByteRange(0, 1))),
    ):
        with pytest.raises(Forbidden):
            on_data(parser, opener=pool)


def test_links_to_names_that_no_file_can_have_are_absent() -> None:
    for name in ("x" * 5000, "a\0b", "nowhere://x/y", "/etc"):
        found = on_data(settle([Elsewhere(name, ByteRange(0, 1))]), "/tmp/main")
        assert isinstance(found[0], FileFault), name


@pytest.mark.parametrize(
    "error", [FetchFailed("u", "503", transient=True), TimeoutError("late"), ConnectionResetError("reset")]
)
@pytest.mark.parametrize(
    "ask", [Stat("https://h/x"), Elsewhere("https://h/x", ByteRange(0, 1)), Whole("https://h/x", True)]
)
def test_failures_of_the_network_end_the_scan_whatever_the_parser_does(error: Exception, ask: Any) -> None:
    def careless() -> Parse[str]:
        try:
            yield (ask,)
        except Exception as caught:  # what no parser should do
            return f"taken for {caught}"
        return "not noticed"

    with pytest.raises(FetchFailed, match=r"503|late|reset"):
        on_data(careless(), opener=failing(error))


def test_failures_of_the_file_itself_name_url_and_range() -> None:
    class Broken(MemorySource):
        def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
            raise TimeoutError("late")

    with pytest.raises(FetchFailed, match="late") as caught:
        run(read([ByteRange(3, 4), ByteRange(9, 1)]), Broken(DATA, "https://h/main"), SourcePool())
    assert (caught.value.url, caught.value.range) == ("https://h/main", ByteRange(3, 4))


def test_decoding() -> None:
    codecs = (CodecSpec("numcodecs.zlib", {"level": 1}),)
    packed = zlib.compress(b"abc" * 100)
    assert bytes(on_data(decoded(codecs, packed, 300))) == b"abc" * 100
    for size in (299, 301, 10_000):
        with pytest.raises(CorruptChunk):
            on_data(decoded(codecs, packed, size))
    with pytest.raises(CorruptChunk):
        on_data(decoded(codecs, b"junk", 300))
    with pytest.raises(Unsupported):
        on_data(decoded((CodecSpec("nobody.knows"),), packed, 300))


def test_another_decoder_may_be_injected() -> None:
    assert run(decoded((), b"abc", 3), MemorySource(DATA), SourcePool(), decode=lambda c, d, n: b"xyz") == b"xyz"


def test_a_hint_makes_one_request_of_a_chain() -> None:
    def chain(hint: bool) -> Parse[int]:
        if hint:
            yield from ahead(0, 1 << 40)
        total = 0
        for at in range(0, 4096, 64):
            total += (yield from one(ByteRange(at, 1)))[0]
        return total

    calls = []
    for hint in (False, True):
        counted = Counting(MemorySource(DATA, "https://h/x"))
        assert run(chain(hint), counted, SourcePool(), block=64) == sum(DATA[::64])
        calls.append(counted.counts.calls)
    assert calls == [64, 1]


def test_windows_shift_and_bound_what_is_asked() -> None:
    def inner() -> Parse[Any]:
        found = yield from settle([ByteRange(0, 2), ByteRange(9, 1), ByteRange(9, 2)])
        yield (Ahead(0, 100),)
        return found

    found = on_data(within(ByteRange(100, 10), inner()))
    assert [bytes(f) for f in found[:2]] == [b"\x64\x65", b"\x6d"]
    assert isinstance(found[2], CorruptFile)


def test_errors_about_another_file_name_it(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"ab")
    with pytest.raises(CorruptFile, match="small, byte 0"):
        on_data(elsewhere("small", one(ByteRange(0, 3))), str(tmp_path / "main"))

    def damaged() -> Parse[None]:
        yield from one(ByteRange(0, 1))
        raise CorruptFile(7, "damaged")

    with pytest.raises(CorruptFile, match="small, byte 7"):
        on_data(elsewhere("small", damaged()), str(tmp_path / "main"))


def test_side_by_side_the_first_fault_is_raised_when_all_are_done() -> None:
    done = []

    def slow() -> Parse[int]:
        for at in range(5):
            yield from one(ByteRange(at, 1))
        done.append(True)
        return 1

    for parser in (both(one(ByteRange(5000, 1)), slow()), all_of([slow(), one(ByteRange(5000, 1))])):
        with pytest.raises(CorruptFile):
            on_data(parser)
    assert len(done) == 2
    assert on_data(both(slow(), slow())) == (1, 1)
    assert on_data(all_of([])) == []


def test_what_is_no_ask_is_a_clear_error() -> None:
    def odd() -> Parse[None]:
        yield ("https://h/x",)  # type: ignore[misc]

    with pytest.raises(TypeError, match="a parser asked for 'https://h/x'"):
        on_data(odd())
