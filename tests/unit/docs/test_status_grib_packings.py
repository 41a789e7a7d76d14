"""docs/status/grib-packings.md has the packings that there are decoders for."""

from __future__ import annotations

import re

from tests.places import ROOT

from byteatlas.codecs.grib.packing.table import EDITION1, EDITION2
from byteatlas.codecs.grib.sections.edition2 import NAMES

TEXT = (ROOT / "docs" / "status" / "grib-packings.md").read_text()


def section(heading: str) -> str:
    return TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]


def test_packings_of_edition_2() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| yes \|", section("Packings of edition 2"), re.MULTILINE)
    assert {int(number): name for number, name in rows} == {number: NAMES[number] for number in EDITION2}


def test_packings_of_edition_1() -> None:
    assert re.findall(r"^\| `(\w+)` \| yes \|", section("Packings of edition 1"), re.MULTILINE) == list(EDITION1)
