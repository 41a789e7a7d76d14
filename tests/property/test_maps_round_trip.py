"""Any tree goes through any form, and through any pair of forms, without losing anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.maps import arrays, same, trees

from byteatlas.manifest.model import VirtualNode
from byteatlas.manifest.options import Format, MapWriteOptions
from byteatlas.manifest.references import read_references, write_references

FORMS: list[tuple[Format, str, MapWriteOptions]] = [
    ("json", "m.json", MapWriteOptions()),
    ("json", "m.json", MapWriteOptions(templates=True)),
    ("json", "m.json.gz", MapWriteOptions(block=3)),
    ("json-v0", "m.json", MapWriteOptions(relative=True)),
    ("parquet", "m.parquet", MapWriteOptions(record_size=3)),
    ("parquet", "m.parquet", MapWriteOptions(relative=True)),
]


def through(node: VirtualNode, folder: Path, form: tuple[Format, str, MapWriteOptions]) -> VirtualNode:
    target = folder / form[1]
    write_references(node, target, form[0], options=form[2])
    return read_references(target)


@pytest.mark.parametrize("second", range(len(FORMS)))
@pytest.mark.parametrize("first", range(len(FORMS)))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(node=st.one_of(trees(), arrays()))
def test_pairs_of_forms(tmp_path_factory: pytest.TempPathFactory, first: int, second: int, node: VirtualNode) -> None:
    folder = tmp_path_factory.mktemp("pair")
    once = through(node, folder, FORMS[first])
    same(node, once)
    same(node, through(once, folder, FORMS[second]))
