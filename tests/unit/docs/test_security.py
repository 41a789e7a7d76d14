"""The page on security names tests that are there."""

from __future__ import annotations

import re

from tests.places import ROOT


def test_every_row_has_a_test_that_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| **")]
    named = [re.findall(r"`([\w/]+\.py)`", row[-1]) for row in rows[1:]]
    assert len(named) > 15
    assert all(named)
    assert not [name for names in named for name in names if not (ROOT / "tests" / name).is_file()]
