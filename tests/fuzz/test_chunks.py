"""Damaged chunks of every codec that there is; ``python -m tests.fuzz.run --minutes N`` damages many more."""

from __future__ import annotations

import pytest
from tests.fuzz.chunks import apart
from tests.fuzz.examples import ALL, NOT_BUILT

CASES = 12


@pytest.mark.parametrize("name", [name for name in ALL if name not in NOT_BUILT])
def test_damaged_chunks_are_values_or_errors_of_ours(name: str) -> None:
    assert apart(name, 0, CASES) == []
