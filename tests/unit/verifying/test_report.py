"""What a report says of its arrays."""

from __future__ import annotations

from typing import cast

import pytest

from byteatlas.verifying.report import Status, VerifyItem, VerifyReport

ITEMS = (
    VerifyItem("a", "equal", "", 6, 1),
    VerifyItem("b", "equal", "", 4, 2),
    VerifyItem("c", "refused", "why"),
    VerifyItem("d", "unchecked", "no library"),
)


@pytest.mark.parametrize("status", ["different", "error", "damaged", "lost"])
def test_one_bad_array_is_enough(status: str) -> None:
    assert VerifyReport("t", ITEMS).ok
    assert not VerifyReport("t", (*ITEMS, VerifyItem("e", cast("Status", status)))).ok
    assert VerifyReport("t", ()).ok


def test_counts_and_values() -> None:
    report = VerifyReport("t", ITEMS)
    assert report.counts == {"equal": 2, "refused": 1, "unchecked": 1}
    assert report.values == 10
    assert report.document() == {
        "target": "t",
        "ok": True,
        "counts": {"equal": 2, "refused": 1, "unchecked": 1},
        "values": 10,
        "arrays": [
            {"path": "a", "status": "equal", "detail": "", "values": 6, "files": 1},
            {"path": "b", "status": "equal", "detail": "", "values": 4, "files": 2},
            {"path": "c", "status": "refused", "detail": "why", "values": 0, "files": 0},
            {"path": "d", "status": "unchecked", "detail": "no library", "values": 0, "files": 0},
        ],
    }
