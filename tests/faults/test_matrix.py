"""A part of the fault matrix (`tests.faults.matrix`): every operation, a few kinds of faults each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.faults.findings import Findings
from tests.faults.materials import files
from tests.faults.matrix import places, run
from tests.faults.operations import READING, WRITING, Place, operations_at

import byteatlas as ba

PATIENT = ba.Retry(wait=0.001, idle=0.3, deadline=20)
"""A busy machine is slow without any fault."""
BACKENDS = ("HTTP", "obstore", "s3fs")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Place]]:
    with places(files(tmp_path_factory.mktemp("matrix")), PATIENT) as found:
        yield {place.name: place for place in found}


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("name", [*READING, *WRITING])
@pytest.mark.parametrize("backend", BACKENDS)
def test_right_or_an_error(servers: dict[str, Place], backend: str, name: str) -> None:
    place = servers[backend]
    operations = operations_at(place)
    if name not in operations:
        assert name in WRITING
        return
    kinds, found = place.kinds, Findings()
    first = BACKENDS.index(backend) + [*READING, *WRITING].index(name)
    place.kinds = tuple(kinds[(first * 5 + k * 11) % len(kinds)] for k in range(1))
    try:
        run(place, {name: operations[name]}, found, short=True)
    finally:
        place.kinds = kinds
    assert not found.wrong
    assert found.faulted
