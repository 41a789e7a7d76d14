"""How bytes may be reached: one value that compares, hashes, pickles, and prints no secrets."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from byteatlas.errors import BadRequest, Forbidden
from byteatlas.io.access import DEFAULT, Access, merged
from byteatlas.io.policy import Policy, foreign
from byteatlas.io.retry import Retry, Retrying
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.storage_options import StorageOptions
from byteatlas.types import ByteRange

OPTIONS: dict[str, Any] = {
    "anon": False,
    "key": "AKIA-very-secret",
    "client_kwargs": {"endpoint_url": "http://host", "headers": [{"a": 1}, "b"]},
    "s3://bucket/": {"secret": "even-more-secret"},
    "https://user:password@host/": {"token": "hush"},
}


def accesses() -> list[Access]:
    return [
        DEFAULT,
        Access(OPTIONS),
        Access(policy=Policy(allow=["/data"])),
        Access(retry=Retry(2, 0.5)),
        Access(stamps="stamp"),
        Access(absent_parts="missing"),
    ]


@pytest.mark.parametrize("number", range(6))
def test_it_is_a_value(number: int) -> None:
    one, same = accesses()[number], accesses()[number]
    assert one == same
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one
    assert len({*accesses(), one, same}) == 6
    with pytest.raises(AttributeError):
        one.policy = None  # type: ignore[misc]
    assert all(other != one for i, other in enumerate(accesses()) if i != number)


def test_nothing_changes_it_from_outside() -> None:
    given: dict[str, Any] = {"client_kwargs": {"a": [1]}}
    access = Access(given)
    given["client_kwargs"]["a"].append(2)
    access.storage_options["client_kwargs"]["a"].append(3)
    access.options_for("s3://x")["client_kwargs"]["a"].append(4)
    assert access.options_for("s3://x") == {"client_kwargs": {"a": [1]}}
    assert dict(access.storage_options) == {"client_kwargs": {"a": [1]}}


def test_an_empty_list_is_no_empty_mapping() -> None:
    assert Access({"a": []}) != Access({"a": {}})


def test_values_that_cannot_be_hashed() -> None:
    session = np.zeros(3)  # stands for any object with an equality of its own
    access = Access({"session": session})
    assert access == Access({"session": session})
    assert access != Access({"session": np.zeros(3)})
    assert hash(access) == hash(Access({"session": session}))
    assert access.options_for("s3://x")["session"] is session


def test_secrets_are_not_printed() -> None:
    for text in (repr(Access(OPTIONS)), str(Access(OPTIONS)), repr(StorageOptions(OPTIONS)), f"{Access(OPTIONS)}"):
        for secret in ("very-secret", "even-more", "hush", "password", "user:"):
            assert secret not in text
        assert "s3://bucket/: (secret)" in text
        assert "client_kwargs" in text


def test_short_forms_and_the_value_exclude_each_other() -> None:
    assert Access.of(None, {"anon": True}) == Access({"anon": True})
    assert Access.of(None, None, Policy(local=False)) == Access(policy=Policy(local=False))
    assert Access.of() is DEFAULT
    with pytest.raises(BadRequest, match="access= says it all"):
        Access.of(DEFAULT, {"anon": True})
    with pytest.raises(BadRequest, match="access= says it all"):
        Access.of(DEFAULT, None, Policy())
    with pytest.raises(BadRequest, match="access is dict; Access was expected"):
        Access.of({"anon": True})  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="backend is 'carrier pigeons'; known: obstore, fsspec"):
        Access(backend="carrier pigeons")  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="policy is str; Policy"):
        Access(policy="/data")  # type: ignore[arg-type]


def test_lists_and_single_prefixes_in_a_policy() -> None:
    for allow in (["/"], ("/",), "/"):
        policy = Policy(allow=allow, local=False)
        policy.check("/etc/passwd")
        assert hash(policy) == hash(Policy(allow=("/",), local=False))
        with pytest.raises(Forbidden):
            policy.check("s3://bucket/x")
    with pytest.raises(Forbidden):
        Policy(deny="/data").check("/data/x")
    Policy(deny="/data").check("/d")


@pytest.mark.parametrize(
    ("origin", "url", "may"),
    [
        ("/a.json", "/b", True), ("/a.json", "memory://b", True), ("/a.json", "s3://b/c", True),
        ("file:///a.json", "/b", True), ("zip://a.json::/all.zip", "/b", True), (None, "/b", True),
        ("memory://a.json", "memory://b", True), ("memory://a.json", "/b", False),
        ("memory://a.json", "zip://b::memory://c", True), ("memory://a.json", "simplecache::memory://c", False),
        ("https://h/a.json", "https://other/b", True), ("https://h/a.json", "s3://b/c", True),
        ("https://h/a.json", "/b", False), ("https://h/a.json", "b", False), ("https://h/a.json", "file:///b", False),
        ("https://h/a.json", "FILE:///b", False), ("https://h/a.json", "memory://b", False),
        ("https://h/a.json", "open-file://7f/b", False), ("https://h/a.json", "zip://b::/c.zip", False),
        ("https://h/a.json", "zip://b::memory://c.zip", False), ("https://h/a.json", "zip://b::s3://c/d.zip", True),
        ("https://h/a.json", "simplecache::https://h/b", False), ("https://h/a.json", "reference://x", False),
        ("simplecache::https://h/a.json", "simplecache::https://h/b", True),
        ("simplecache::https://h/a.json", "simplecache::file:///b", False),
        ("simplecache::https://h/a.json", "filecache::https://h/b", False),
        ("https://h/a.json", "git://x", False), ("https://h/a.json", "dvc://x", False),
    ],
)  # fmt: skip
def test_who_may_name_what(origin: str | None, url: str, may: bool) -> None:
    assert foreign(origin, url) is not may


def test_merging_what_was_opened_in_several_ways() -> None:
    one, two = Access({"anon": True}), Access({"key": "k", "s3://b/deep/": {"key": "deeper"}})
    assert merged([]) is DEFAULT
    assert merged([(one, lambda: ["s3://a/x"]), (one, lambda: ["s3://b/x"])]) is one
    both = merged([(one, lambda: ["s3://a/x", "/local"]), (two, lambda: ["s3://b/x"])])
    assert both.options_for("s3://a/y") == {"anon": True}
    assert both.options_for("s3://b/y") == {"key": "k"}
    assert both.options_for("s3://b/deep/y") == {"key": "deeper"}
    assert both.options_for("s3://c/y") == {}
    with pytest.raises(BadRequest, match="two different storage options"):
        merged([(one, lambda: ["s3://a/x"]), (two, lambda: ["s3://a/y"])])
    with pytest.raises(BadRequest, match="two different storage options"):
        merged([(one, lambda: ["s3://a/x"]), (DEFAULT, lambda: ["s3://a/y"])])
    with pytest.raises(BadRequest, match="different policies"):
        merged([(DEFAULT, lambda: ["/x"]), (Access(policy=Policy(local=False)), lambda: ["/y"])])


def test_open_files_are_known_under_their_urls() -> None:
    access = DEFAULT.with_files([MemorySource(b"abc", "open-file://1/a")])
    assert access.with_files(access.files) is access
    for source in (access.open("open-file://1/a"), access.pool()("open-file://1/a")):
        assert [bytes(d) for d in source.read([ByteRange(1, 2)])] == [b"bc"]
    again: Access = pickle.loads(pickle.dumps(access))
    assert bytes(again.open("open-file://1/a").read_all()) == b"abc"


def test_its_retries_are_used() -> None:
    source = Access(retry=Retry(7, 0.25)).open("memory://byteatlas-nothing")
    assert isinstance(source, Retrying)
    assert source.retry == Retry(7, 0.25)


def test_what_is_no_text_or_no_list() -> None:
    with pytest.raises(BadRequest, match="storage_options is dict; a dict whose keys are text"):
        Access({1: 2})  # type: ignore[dict-item]
    with pytest.raises(BadRequest, match="credentials are given for prefixes"):
        Access(credentials="anonymous")  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="deny is a list of prefixes"):
        Policy(deny=None)  # type: ignore[arg-type]
