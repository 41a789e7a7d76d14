"""docs/status/tiff.md and netcdf3.md are what the code says."""

from __future__ import annotations

import pytest
from docs.status.make_raster import COMPRESSIONS, FILES
from tests.places import ROOT

from byteatlas.codecs.core.table import BUILTIN
from byteatlas_scanners.tiff import samples
from byteatlas_scanners.tiff.page import JPEGS, LERC, NONE, WEBP

STATUS = ROOT / "docs" / "status"


@pytest.mark.parametrize("name", FILES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert (STATUS / name).read_text() == FILES[name](), "run python docs/status/make_raster.py"


def test_every_compression_that_is_read_has_a_row() -> None:
    known = {NONE, LERC, WEBP, *samples.BYTE_COMPRESSIONS, *samples.IMAGE_COMPRESSIONS}
    assert known | set(samples.CCITT) | JPEGS <= set(COMPRESSIONS)


def test_every_codec_that_the_scanner_names_exists() -> None:
    named = {c.name for c in samples.BYTE_COMPRESSIONS.values()} | set(samples.IMAGE_COMPRESSIONS.values())
    assert named | set(samples.CCITT.values()) <= set(BUILTIN)
