"""Connections to a bucket are shared by all who reach it alike, and by nobody else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from byteatlas.io.sources.objects.options import Arguments, arguments
from byteatlas.io.sources.objects.stores import store_of

pytest.importorskip("obstore")
KEYS: dict[str, Any] = {"key": "AKIA-of-the-tests", "secret": "secret", "endpoint_url": "http://127.0.0.1:1"}


def made(bucket: str = "bucket", **more: Any) -> Arguments:
    return arguments("s3", bucket, {**KEYS, **more})


def test_the_same_options_have_the_same_store() -> None:
    assert store_of(made(), 30.0) is store_of(made(), 30.0)


@pytest.mark.parametrize("other", [made("other"), made(secret="x"), made(client_options={"user_agent": "x"})])
def test_other_options_have_another_store(other: Arguments) -> None:
    assert store_of(other, 30.0) is not store_of(made(), 30.0)


def test_another_limit_has_another_store() -> None:
    assert store_of(made(), 29.0) is not store_of(made(), 30.0)


def test_another_environment_has_another_store(monkeypatch: pytest.MonkeyPatch) -> None:
    before = store_of(made(), 30.0)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody else")
    after = store_of(made(), 30.0)
    assert after is not before
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    assert store_of(made(), 30.0) is before


def test_options_that_no_text_can_tell_apart_share_nothing() -> None:
    limits = {"pool_idle_timeout": timedelta(seconds=5)}
    assert store_of(made(client_options=limits), 30.0) is not store_of(made(client_options=limits), 30.0)


def test_arguments_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody else")
    given = made()
    store_of(given, 30.0)
    assert given == made()
    assert given.config["access_key_id"] == KEYS["key"]
