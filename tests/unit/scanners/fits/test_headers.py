"""FITS headers and the chain of units: cards, repeated keywords, names, what follows the last unit, rounds."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.fits.make_fits import images
from fixtures.fits.raw_fits import BLOCK, card, image, primary, table, unit
from tests.scanning import scan_bytes

from byteatlas.errors import BadRequest, CorruptFile, Unsupported
from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.scanning.contract import FirstBytes, ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas_scanners.fits import SCANNER
from byteatlas_scanners.fits.header import parse_header

SMALL = np.arange(6, dtype="i2").reshape(2, 3)


def header(*lines: bytes) -> dict[str, object]:
    return dict(parse_header(b"".join(line.ljust(80) for line in (*lines, b"END")), 0).first)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (b"'it''s   ' / text", "it's"),
        (b"                  42 / a", 42),
        (b"-7", -7),
        (b"1.5D-3", 0.0015),
        (b".5", 0.5),
        (b"                   T / yes", True),
        (b"F", False),
        (b"(1.0, -2.5)", [1.0, -2.5]),
        (b"", None),
        (b"   / only a comment", None),
        (b"''", ""),
        (b"1E999", "1E999"),
        (b"nan", "nan"),
        (b"'a / b' / c", "a / b"),
    ],
)
def test_values_of_cards(field: bytes, value: object) -> None:
    found = header(b"KEY     = " + field)["KEY"]
    assert found == value
    assert type(found) is type(value)


def test_long_strings_go_on() -> None:
    found = header(
        b"A       = 'one &'", b"CONTINUE  'two&'", b"CONTINUE  ' three'", b"B       = 'ends in &'", b"C       = 1"
    )
    assert found == {"A": "one two three", "B": "ends in &", "C": 1}


def test_keywords_of_several_words_and_comments() -> None:
    found = header(b"HIERARCH ESO  DET ID = 'x' / c", b"COMMENT a", b"HISTORY b", b"        c", b"NOVALUE text")
    assert found == {"ESO DET ID": "x", "COMMENT": "a", "HISTORY": "b", "blank": "c"}


def test_repeated_keywords_are_kept() -> None:
    lines = [b"A       = 1", b"A       = 2", b"B       = 3", b"B       = 3", b"HISTORY x", b"HISTORY y"]
    group = scan_bytes(SCANNER, image(SMALL, primary=True, more=lines))
    assert group.attributes == {"A": [1, 2], "B": 3, "HISTORY": ["x", "y"]}


def test_comments_are_always_a_list() -> None:
    assert scan_bytes(SCANNER, image(SMALL, primary=True, more=[b"HISTORY x"])).attributes == {"HISTORY": ["x"]}


def test_one_unit_is_at_the_root_and_several_have_groups() -> None:
    assert list(scan_bytes(SCANNER, image(SMALL, primary=True)).arrays) == ["data"]
    group = scan_bytes(
        SCANNER, primary(OBJECT="M 31") + image(SMALL) + image(SMALL, EXTNAME="A") + image(SMALL, EXTNAME="A/B")
    )
    assert group.attributes == {"OBJECT": "M 31"}
    assert list(group.groups) == ["hdu_1", "A", "hdu_3"]
    assert [item.locators for item in group.report] == [("hdu/1",), ("hdu/2",), ("hdu/3",)]


def test_names_that_repeat_have_versions() -> None:
    one, two = image(SMALL, EXTNAME="SCI", EXTVER=1), image(SMALL, EXTNAME="SCI", EXTVER=2)
    assert list(scan_bytes(SCANNER, primary() + one + two).groups) == ["SCI_1", "SCI_2"]
    assert list(scan_bytes(SCANNER, primary() + one + one).groups) == ["hdu_1", "hdu_2"]


def test_what_follows_the_last_unit_is_said() -> None:
    group = scan_bytes(SCANNER, primary() + image(SMALL) + b"JUNK".ljust(2 * BLOCK))
    assert group.report[-1].detail == f"{2 * BLOCK} bytes follow the last unit"
    cut = scan_bytes(SCANNER, (primary() + image(SMALL))[:-1])
    assert cut.report[-1].status == "virtual"
    assert "whole block" in cut.report[-1].detail


def test_a_header_that_is_cut_off_is_refused_and_the_rest_is_read() -> None:
    data = primary() + image(SMALL) + image(SMALL, more=[b"COMMENT x"] * 40)[:BLOCK]
    group = scan_bytes(SCANNER, data)
    assert list(group.groups) == ["hdu_1"]
    assert (group.report[-1].path, group.report[-1].reason) == ("hdu_2", "corrupt")


@pytest.mark.parametrize("behind", [b"(", b"  \x0b", b" " * 40 + b"R", b"\0" * 4])
def test_what_stands_behind_end_is_passed_over(behind: bytes) -> None:
    data = primary().replace(b"END" + b" " * len(behind), b"END" + b" " * 0 + behind, 1) + image(SMALL)
    assert list(scan_bytes(SCANNER, data).groups) == ["hdu_1"]


def test_data_that_are_cut_off_are_refused() -> None:
    group = scan_bytes(SCANNER, image(np.zeros((100, 100), "f8"), primary=True)[: 4 * BLOCK])
    (item,) = group.report
    assert (item.status, item.reason) == ("refused", "corrupt")
    assert "80000" in item.detail or "82880" in item.detail


def test_files_that_do_not_conform_are_refused() -> None:
    with pytest.raises(Unsupported, match="SIMPLE"):
        scan_bytes(SCANNER, unit({"SIMPLE": False, "BITPIX": 8, "NAXIS": 0}))
    with pytest.raises(CorruptFile, match="BITPIX"):
        scan_bytes(SCANNER, unit({"SIMPLE": True, "BITPIX": 12, "NAXIS": 0}))
    with pytest.raises(CorruptFile, match="NAXIS1"):
        scan_bytes(SCANNER, unit({"SIMPLE": True, "BITPIX": 8, "NAXIS": 1, "NAXIS1": "x"}))


def test_other_extensions_are_refused_by_name() -> None:
    other = unit({"XTENSION": "FOREIGN", "BITPIX": 8, "NAXIS": 1, "NAXIS1": 5, "PCOUNT": 0, "GCOUNT": 1}, b"abcde")
    group = scan_bytes(SCANNER, primary() + other + image(SMALL))
    assert [(item.status, item.reason) for item in group.report] == [("refused", "layout"), ("virtual", None)]


def test_data_with_another_sum_are_refused_on_request() -> None:
    words = np.frombuffer(SMALL.astype(">i2").tobytes(), ">u4")
    right = image(SMALL, primary=True, DATASUM=str(int(words.sum())))
    asked = ScanOptions(extra={"fits": {"checksums": True}})
    assert scan_bytes(SCANNER, right, asked).report[0].status == "virtual"
    wrong = image(SMALL, primary=True, DATASUM="12345")
    assert scan_bytes(SCANNER, wrong).report[0].status == "virtual"
    assert scan_bytes(SCANNER, wrong, asked).report[0].reason == "corrupt"


def test_options_are_declared() -> None:
    with pytest.raises(BadRequest, match="unpack_columns"):
        scan_bytes(SCANNER, images(), ScanOptions(extra={"fits": {"unpack": True}}))


def test_recognised_by_the_first_card() -> None:
    assert SCANNER.sniff(FirstBytes(card("SIMPLE", True)))
    assert not SCANNER.sniff(FirstBytes(b"SIMPLER = 1"))


# --------------------------------------------------------------------------------------- rounds


def rounds(data: bytes) -> int:
    source = Counting(MemorySource(data, "memory://a.fits"))
    scan_source(source, lambda url: source, {"fits": SCANNER}, ScanOptions())
    return source.counts.calls


def test_units_that_are_alike_are_found_at_once() -> None:
    large = np.zeros((600, 600), "i2")
    assert rounds(primary() + b"".join(image(large, EXTNAME=f"A{i}") for i in range(20))) <= 4


def test_units_that_repeat_with_a_period_are_found_at_once() -> None:
    science, quality = np.zeros((600, 600), "f4"), np.zeros((600, 600), "i2")
    units = [
        image(a, EXTNAME=n, EXTVER=i) for i in range(7) for n, a in (("S", science), ("E", science), ("Q", quality))
    ]
    assert rounds(primary() + b"".join(units[:20])) <= 4


def test_small_files_are_one_round() -> None:
    rows = table(bytes(100), 4, [("A", "J")])
    assert rounds(primary() + rows + image(np.zeros((50, 70), "i2")) + rows + image(SMALL)) <= 2
