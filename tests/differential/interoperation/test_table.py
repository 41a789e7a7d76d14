"""The tables of the status page: nothing is read wrong, and what they say is so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.differential.interoperation.readers import READERS
from tests.differential.interoperation.table import ABSENT, WRONG, outcomes, versions
from tests.differential.interoperation.writers import FEATURES, WRITERS
from tests.places import ROOT

PAGE = (ROOT / "docs" / "status" / "interoperation.md").read_text()


def recorded(writer: str, feature: str) -> dict[str, str]:
    """A row of the page."""
    section = PAGE.split(f"\n### {writer}\n")[1].split("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "|" in line]
    names = rows[0][1:]
    return dict(zip(names, next(row[1:] for row in rows if row[0] == feature), strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("writer", WRITERS)
def test_rows(writer: str, feature: str, tmp_path: Path) -> None:
    """Compared with the page where the readers are those that it was made with; nothing is wrong in any case."""
    found = outcomes(feature, writer, list(READERS), tmp_path)
    assert WRONG not in found.values()
    if f"Made with {versions()}." in PAGE:
        there = {reader: what for reader, what in found.items() if what != ABSENT}
        assert there == {reader: what for reader, what in recorded(writer, feature).items() if reader in there}


def test_the_page_says_nothing_wrong() -> None:
    assert WRONG not in PAGE
    assert all(f"\n### {writer}\n" in PAGE for writer in WRITERS)
