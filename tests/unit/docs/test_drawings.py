"""The documentation's drawings are what their programs draw, of the figures that the pages have."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from docs.drawing import concepts, speed
from tests.places import ROOT

DRAWN = {name: draw() for name, draw in concepts.FILES.items()} | speed.plots()


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == DRAWN[name], "run the programs in docs/drawing"


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_xml_with_a_title_and_nothing_outside(name: str) -> None:
    root = ElementTree.fromstring(DRAWN[name])
    width = float(root.attrib["width"])
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text
    boxes = [node for node in root if node.tag.endswith("rect")]
    edges = [(float(b.attrib["x"]), float(b.attrib["x"]) + float(b.attrib["width"])) for b in boxes]
    assert min(left for left, _ in edges) >= 0
    assert max(right for _, right in edges) <= width


def test_the_plots_have_every_peer_of_their_tables() -> None:
    page = speed.PAGE.read_text(encoding="utf-8")
    scan = speed.tables(page, "scan")
    section = page.partition("<!-- scan -->")[2].partition("<!-- end of scan")[0]
    assert len(scan) == len(re.findall(r"^\*\*", section, re.MULTILINE))
    assert {who for _, rows in scan for who, _ in rows} == {"hidefix", "VirtualiZarr", "kerchunk"}
