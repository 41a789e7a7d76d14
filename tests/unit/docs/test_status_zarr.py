"""docs/status/zarr.md and the registries say the same."""

from __future__ import annotations

import re

from tests.places import ROOT

from byteatlas.codecs.core.imagecodecs_table import COMPRESSORS, ENCODERS, IMAGES, PLAIN
from byteatlas.codecs.core.table import CORE, KERCHUNK, NUMCODECS, REFUSED
from byteatlas.meta.dtypes import KNOWN, NARROW

TEXT = (ROOT / "docs" / "status" / "zarr.md").read_text()


def rows(heading: str) -> dict[str, str]:
    """Name -> status of the table under a heading."""
    section = TEXT.split(f"## {heading}")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = line.split("|")
        if len(cells) > 3:
            for name in re.findall(r"`([^`]+)`", cells[1]):
                found[name] = cells[2].strip()
    return found


CODECS = rows("Codecs of version 3") | rows("Codecs of version 2")


def test_every_codec_has_a_row() -> None:
    ours = {name for name in CORE if not name.startswith("byteatlas.") or name == "byteatlas.bytes"}
    assert ours | set(NUMCODECS) | set(KERCHUNK) | set(REFUSED) == {n for n in CODECS if not n.endswith("*")}


def test_refused_codecs_say_so() -> None:
    assert {name for name, status in CODECS.items() if status == "refused"} == set(REFUSED)


def test_every_data_type_has_a_row() -> None:
    named = {n for n in rows("Data types of version 3") if n != "complex_*"}
    assert named == {*KNOWN, *NARROW}


def test_images_are_listed() -> None:
    lines = [x for x in TEXT.splitlines() if "`imagecodecs_*`" in x]
    encoded = " ".join(x for x in lines if x.split("|")[2].strip() == "yes")
    decoded = " ".join(x for x in lines if x.split("|")[2].strip() == "read")
    for name in (*IMAGES, *PLAIN, *ENCODERS, *COMPRESSORS):
        there = encoded if name in ENCODERS or name in COMPRESSORS else decoded
        assert re.search(rf"\b{name}\b", there), name
