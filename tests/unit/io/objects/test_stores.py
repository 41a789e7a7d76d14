"""Connections to a bucket are shared by all who reach it alike, and by nobody else."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from byteatlas.io.sources.objects.faults import object_errors
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


@pytest.mark.parametrize("name", ["GOOGLE_APPLICATION_CREDENTIALS", "HOME"])
def test_where_googles_credentials_are_counts(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    before = store_of(arguments("gs", "bucket", {}), 30.0)
    keys = tmp_path / ".config/gcloud/application_default_credentials.json"
    keys.parent.mkdir(parents=True)
    keys.write_text(credentials("one"))
    monkeypatch.setenv(name, str(tmp_path if name == "HOME" else keys))
    one = store_of(arguments("gs", "bucket", {}), 30.0)
    assert one is not before
    assert store_of(arguments("gs", "bucket", {}), 30.0) is one
    keys.write_text(credentials("another"))
    assert store_of(arguments("gs", "bucket", {}), 30.0) is not one


def test_an_account_that_is_not_there_is_no_other_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    store_of(arguments("gs", "bucket", {}), 30.0)
    monkeypatch.setenv("SERVICE_ACCOUNT", str(tmp_path / "keys.json"))
    with pytest.raises(object_errors(), match=re.escape("keys.json")):
        store_of(arguments("gs", "bucket", {}), 30.0)


def test_a_file_of_credentials_that_an_option_names_may_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(credentials("one"))
    before = store_of(arguments("gs", "bucket", {"token": str(keys)}), 30.0)
    assert store_of(arguments("gs", "bucket", {"token": str(keys)}), 30.0) is before
    keys.write_text(credentials("another"))
    assert store_of(arguments("gs", "bucket", {"token": str(keys)}), 30.0) is not before


def credentials(who: str) -> str:
    """A user's, as ``gcloud auth application-default login`` writes them."""
    keys = {"client_id": who, "client_secret": "secret", "refresh_token": "token", "type": "authorized_user"}
    return json.dumps(keys)


def test_options_that_no_text_can_tell_apart_share_nothing() -> None:
    limits = {"pool_idle_timeout": timedelta(seconds=5)}
    assert store_of(made(client_options=limits), 30.0) is not store_of(made(client_options=limits), 30.0)


def test_arguments_are_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody else")
    given = made()
    store_of(given, 30.0)
    assert given == made()
    assert given.config["access_key_id"] == KEYS["key"]
