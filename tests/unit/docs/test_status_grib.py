"""docs/status/grib.md is what the code says."""

from __future__ import annotations

from docs.status.make_grib import page
from tests.places import ROOT


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "status" / "grib.md").read_text(encoding="utf-8")
    assert text == page(), "run python docs/status/make_grib.py"
