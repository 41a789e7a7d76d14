"""The conformance kit: it passes the example scanner of the documentation, and finds what is wrong with bad ones."""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.examples.grids_scanner import GridsScanner

import byteatlas as ba
from byteatlas.errors import BadRequest, FetchFailed, FileFault
from byteatlas.io.source import Source
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualGroup
from byteatlas.scanning import feed
from byteatlas.scanning.contract import FirstBytes, Option, Parse, ScanOptions
from byteatlas.testing import CHECKS, Case, assert_conforms, conform, each_check, fingerprint
from byteatlas.testing import checks as kit
from byteatlas.types import Buffer, ByteRange

VALUES = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": np.arange(20, dtype="<i2").reshape(4, 5)}


def record(name: str, values: np.ndarray[Any, Any], codec: int) -> bytes:
    data = zlib.compress(values.tobytes()) if codec == 1 else values.tobytes()
    kind = values.dtype.str[1:].encode()
    return struct.pack("<16s4sB3xIIQ", name.encode(), kind, codec, *values.shape, len(data)) + data


def grids() -> bytes:
    return b"GRDS" + record("a", VALUES["a"], 0) + record("b", VALUES["b"], 1) + record("odd", VALUES["a"], 9)


def example(scanner: GridsScanner | None = None) -> Case:
    side = {"memory://files/x.grids.json": json.dumps({"a": {"units": "m"}}).encode()}
    return Case(scanner or GridsScanner(), grids(), "memory://files/x.grids", others=side)


@each_check([example()])
def test_the_example_of_the_documentation_conforms(case: Case, check: kit.ScannerCheck) -> None:
    assert_conforms(case, [check])


def test_the_example_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.grids"
    path.write_bytes(grids())
    Path(f"{path}.json").write_text('{"a": {"units": "m"}}')
    found = ba.scan(path, scanners={"grids": GridsScanner()}, on_refusal="ignore")
    root: Any = ba.open(found)
    for name, expected in VALUES.items():
        np.testing.assert_array_equal(root[name][...], expected)
    assert root["a"].attrs == {"units": "m"}
    assert [(i.path, i.status, i.reason) for i in found.report] == [
        ("a", "virtual", None),
        ("b", "virtual", None),
        ("odd", "refused", "compression"),
    ]


def test_a_damaged_side_file_is_in_the_report() -> None:
    case = replace(example(), others={"memory://files/x.grids.json": b"{"})
    found = case.scan()
    assert list(found.arrays) == ["a", "b"]
    assert ("/", "incomplete") in [(i.path, i.status) for i in found.report]


def test_options_are_declared() -> None:
    assert not kit.case_with(example(), {"side_file": False}).scan().arrays["a"].meta.attributes
    with pytest.raises(BadRequest, match=r"no option 'side_fle'; known: side_file \(bool\)"):
        kit.case_with(example(), {"side_fle": True}).scan()
    with pytest.raises(BadRequest, match="not bool"):
        kit.case_with(example(), {"side_file": 1}).scan()


class _Silent(GridsScanner):
    """Gives what it has, whatever happened, and says nothing."""

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        try:
            found: VirtualGroup = yield from super().scan(source, options)
        except FileFault:
            return VirtualGroup()
        return replace(found, report=tuple(i for i in found.report if i.status == "virtual"))


class _Clumsy(GridsScanner):
    """Does not expect damage."""

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        found: VirtualGroup = yield from super().scan(source, options)
        return replace(found, arrays={name: found.arrays[name] for name in ("a", "b")})


class _Unreported(GridsScanner):
    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        found: VirtualGroup = yield from super().scan(source, options)
        return replace(found, report=())


class _Contradicting(GridsScanner):
    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        found: VirtualGroup = yield from super().scan(source, options)
        return replace(found, report=(*found.report[1:], ReportItem("a", "refused", "corrupt", "damaged")))


class _Misfit(GridsScanner):
    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        found: VirtualGroup = yield from super().scan(source, options)
        a, b = found.arrays["a"], found.arrays["b"]
        return replace(found, arrays={"a": replace(a, meta=replace(a.meta, shape=(20, 3))), "b": b})


class _Forgetful(GridsScanner):
    """Gives something else each time."""

    def __init__(self) -> None:
        self.numbers = itertools.count()

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        found: VirtualGroup = yield from super().scan(source, options)
        return replace(found, meta=replace(found.meta, attributes={"number": next(self.numbers)}))


class _Greedy(GridsScanner):
    def sniff(self, first: FirstBytes) -> bool:
        return True


class _Blind(GridsScanner):
    def sniff(self, first: FirstBytes) -> bool:
        return False


class _Mistyped(GridsScanner):
    options = (Option("side_file", bool, "yes"),)


@pytest.mark.parametrize(
    ("scanner", "check", "words"),
    [
        (_Silent, kit.truncation, "the report does not say so"),
        (_Clumsy, kit.truncation, "KeyError"),
        (_Clumsy, kit.hostile_sizes, "KeyError"),
        (_Unreported, kit.report, "not mentioned"),
        (_Contradicting, kit.report, "refused, but presented"),
        (_Misfit, kit.report, "grid"),
        (_Forgetful, kit.same_again, "something else"),
        (_Greedy, kit.recognition, "noise is recognised"),
        (_Blind, kit.recognition, "not recognised"),
        (_Mistyped, kit.declared_options, "not of its option's type"),
    ],
)
def test_what_is_wrong_is_found(scanner: Any, check: kit.ScannerCheck, words: str) -> None:
    found = conform(example(scanner()), [check])
    assert any(words in finding.detail for finding in found), found
    with pytest.raises(AssertionError, match=check.__name__):
        assert_conforms(example(scanner()), [check])


def test_failures_that_are_swallowed_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that took a failure of the network for zeros."""
    honest = feed.fetched

    def zeros(source: Source, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        try:
            return honest(source, ranges)
        except FetchFailed:
            return [bytes(r.length) for r in ranges]

    monkeypatch.setattr(feed, "fetched", zeros)
    assert any("another result" in f.detail for f in conform(example(), [kit.faults]))


def test_errors_without_a_range_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(source: Source, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        try:
            return source.read(ranges)
        except OSError as error:
            raise FetchFailed(source.url, str(error)) from error

    monkeypatch.setattr(feed, "fetched", bare)
    assert any("without URL and range" in f.detail for f in conform(example(), [kit.faults]))


def test_fingerprints_see_every_column() -> None:
    found = example().scan()
    a = found.arrays["a"]
    moved = replace(a, manifest=replace(a.manifest.load(), offset=a.manifest.load().offset + np.uint64(1)))
    others = [
        replace(found, report=()),
        replace(found, arrays={**found.arrays, "a": moved}),
        replace(found, arrays={"a": a}),
        replace(found, arrays={**found.arrays, "a": replace(a, meta=a.meta.with_attributes({}))}),
    ]
    assert len({fingerprint(g) for g in (found, *others)}) == 5


def test_every_check_has_a_name_and_a_sentence() -> None:
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS)
    assert all(check.__doc__ for check in CHECKS)
