"""Damaged maps, documents and containers; ``python -m tests.fuzz.run --minutes N`` damages many more."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.chunks import apart
from tests.fuzz.run_maps import KINDS, attack, prepared, read


@pytest.mark.parametrize("kind", KINDS)
def test_sound_ones_are_read(kind: str, tmp_path: Path) -> None:
    url, _, _ = prepared(kind, tmp_path)
    assert read(url, kind) in (("read",) if kind not in ("dmrpp", "json", "parquet") else ("read", "FetchFailed"))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_ones_are_trees_or_errors_of_ours(kind: str) -> None:
    assert apart(kind, 0, 60, attack) == []
