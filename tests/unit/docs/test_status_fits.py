"""docs/status/fits.md names what the code knows."""

from __future__ import annotations

import pytest
from tests.places import ROOT

from byteatlas.codecs.core.table import FITS
from byteatlas.codecs.fits.tiles import UNPACK
from byteatlas_scanners.fits import SCANNER
from byteatlas_scanners.fits.columns import CODES
from byteatlas_scanners.fits.compressed import ALGORITHMS, DITHERS

PAGE = (ROOT / "docs" / "status" / "fits.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [*ALGORITHMS, *[d for d in DITHERS if d not in ("", "NONE")], *[o.name for o in SCANNER.options]]
)
def test_it_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE or (name == "SUBTRACTIVE_DITHER_2" and "`_2`" in PAGE)


def test_every_codec_and_type_of_column_is_on_the_page() -> None:
    kept_in_the_heap = {"byteatlas.fits_heap"}
    assert all(f"`{name}`" in PAGE for name in set(FITS) - kept_in_the_heap)
    table = PAGE.partition("## Columns")[2].partition("## Compression")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    assert set(CODES) <= set(first.replace("`", " ").split())


def test_every_algorithm_has_a_decoder() -> None:
    assert set(ALGORITHMS.values()) == set(UNPACK)
