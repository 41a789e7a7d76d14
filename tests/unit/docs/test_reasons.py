"""The documented reason codes are those of the code."""

from __future__ import annotations

import re

from tests.places import ROOT

from byteatlas.scanning.reasons import EXPLAINED, Reason

PAGE = ROOT / "docs" / "reference" / "reasons.md"


def test_reason_codes() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == {str(reason): text for reason, text in EXPLAINED.items()}
    assert set(EXPLAINED) == set(Reason)
