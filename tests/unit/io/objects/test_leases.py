"""The object that keeps other writers out."""

from __future__ import annotations

from typing import Any

import pytest
from tests.s3_servers import s3_subset

from byteatlas.errors import Conflict
from byteatlas.io.access import Access
from byteatlas.io.writing import leases
from byteatlas.io.writing.remote import put
from byteatlas.io.writing.versions import Overtaken


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_an_answer_that_was_lost(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object was made, nobody heard of it, and the next try found it there: it is ours, and nobody waits for it."""
    lost = [True]

    def answers_are_lost(*what: Any) -> None:
        put(*what)
        if lost:
            lost.clear()
            raise Overtaken("the next try found an object")

    monkeypatch.setattr(leases, "put", answers_are_lost)
    with s3_subset({"a": b"a"}) as bucket:
        access = Access(bucket.options(), backend=backend)
        with leases.one_writer(bucket.at("m.json"), access, patience=0.5):
            assert ".m.json.lock" in " ".join(bucket.objects)
            with (
                pytest.raises(Conflict, match="written by others"),
                leases.one_writer(bucket.at("m.json"), access, patience=0.2),
            ):
                pass
        assert ".m.json.lock" not in " ".join(bucket.objects)
    assert not lost
