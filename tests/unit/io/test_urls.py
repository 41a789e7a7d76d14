"""No spelling of a URL gets round a list, and credentials go to the server that they are for."""

from __future__ import annotations

from typing import Any

import pytest

from byteatlas.errors import BadRequest, FetchFailed, Forbidden
from byteatlas.io.access import Access
from byteatlas.io.policy import Policy, foreign
from byteatlas.io.storage_options import StorageOptions
from byteatlas.io.urls import fault_of, split, under
from byteatlas.masking import masked, without_secrets

ALLOWED = Policy(allow=["http://HOST/ok", "s3://bucket/ok"], local=False)


@pytest.mark.parametrize(
    "url",
    [
        "http://evil/../HOST/ok/x", "http://evil/../../HOST/ok/x", "http://evil?/../HOST/ok/x", "http://evil#/../HOST/ok/x",
        "http://HOST/secret?/../ok/x", "http://HOST/ok/../secret", "http://HOST/ok/%2e%2e/secret", "http://HOST/ok%2f..%2fsecret",
        "http://HOST/ok/.%2E/secret", "http://HOST/okay", "http://HOST@evil/ok/x", "http://HOST:80@evil/ok/x", "http://HOST:8080/ok/x",
        "http://evil\\@HOST/ok/x", "http://HOST\\.evil/ok/x", "ht\ttp://HOST/ok/x", "http://ev\til/ok/x", "http://HOST/ok\n/x",
        "https://HOST/ok/x", "s3://bucket/ok/../x", "s3://bucket-evil/ok/x", "s3://bucket/okay", "s3a://bucket/ok/x",
        "/etc/x::http://HOST/ok/x", "simplecache::file:///etc/x::http://HOST/ok/x", "zip:///m::file:///a.zip::http://HOST/ok/x",
        "zip://a::http://evil/x", "file:///ok/x", "c://HOST/ok/x", "data:,x", "reference://::http://HOST/ok/x",
        "dir::http://HOST/ok/x", "http://HOST.evil/ok/x", "http:///HOST/ok/x",
    ],
)  # fmt: skip
def test_what_is_not_allowed(url: str) -> None:
    with pytest.raises(Forbidden):
        ALLOWED.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://host/ok", "http://host:80/ok/x", "HTTP://Host./ok/x?version=2", "http://me:pass@host/ok/x", "http://host/./ok/a%20b",
        "http://host/no/../ok/x", "s3://bucket/ok/x", "zip://a.nc::s3://bucket/ok/all.zip", "simplecache::http://host/ok/x",
    ],
)  # fmt: skip
def test_what_is_allowed(url: str) -> None:
    ALLOWED.check(url)


LOCALHOST = [
    "http://localhost/x", "http://127.0.0.1/x", "http://127.1/x", "http://2130706433/x", "http://0x7f000001/x", "http://0/x",
    "http://LOCALHOST./x", "http://a.localhost/x", "http://%6cocalhost/x",
]  # fmt: skip


@pytest.mark.parametrize("url", LOCALHOST)
def test_this_machine_has_many_names(url: str) -> None:
    with pytest.raises(Forbidden):
        Policy(deny=["http://127.0.0.1"]).check(url)
    Policy(allow=["http://localhost/"]).check(url)
    assert foreign("https://host/map.json", url)
    assert not foreign("http://localhost:81/map.json", url)
    assert not foreign("/data/map.json", url)


def test_what_a_network_tells_a_machine_in_private() -> None:
    assert foreign("https://host/map.json", "http://169.254.169.254/latest/meta-data/iam/")
    with pytest.raises(Forbidden):
        Policy().check("http://169.254.169.254/latest/", foreign=True)


@pytest.mark.parametrize("url", ["http://[::1]/x", "http://[::ffff:127.0.0.1]/x"])
def test_colons_that_look_like_a_chain(url: str) -> None:
    with pytest.raises(Forbidden, match="brackets"):
        Policy().check(url)


@pytest.mark.parametrize(
    "url", ["/data/secret/x", "//data/secret/x", "/data/./secret", "file:///data/%73ecret/x", "/../data/secret"]
)
def test_what_is_denied_here(url: str) -> None:
    with pytest.raises(Forbidden):
        Policy(deny=["/data/secret"]).check(url)


@pytest.mark.parametrize(
    "url", ["xyz://host/a", "c://host/a", "git://host/a", "libarchive://a::http://h/x", "ftpx://h/a"]
)
def test_unknown_protocols_may_lead_anywhere(url: str) -> None:
    assert foreign("https://host/map.json", url)


def test_one_spelling() -> None:
    assert str(split("https://H:443/a?b#c")) == "https://h/a?b"
    assert str(split("http://[FE80::1]:80/")) == "http://[fe80::1]"
    assert fault_of("/data/a\tb") is None  # a legal name of a file
    assert fault_of("a\0b") is not None
    assert under("http://h/a?x=1", "http://h/a?x=1")
    assert not under("http://h/a?x=2", "http://h/a?x=1")
    assert under("s3://b/x", "s3://")


def test_options_for_one_bucket_are_not_for_its_neighbour() -> None:
    options = StorageOptions({"s3://bucket": {"key": "k"}, "http://host:80": {"token": "t"}})
    assert options.for_url("s3://bucket/x") == options.for_url("zip://a::s3://bucket/x.zip") == {"key": "k"}
    assert options.for_url("s3://bucket-evil/x") == {}
    assert options.for_url("http://host/x") == {"token": "t"}
    assert options.for_url("http://host:8080/x") == options.for_url("http://host.evil/x") == {}


def test_options_for_a_map_are_not_for_all_that_it_names() -> None:
    access = Access({"headers": {"Authorization": "secret"}, "s3://b/": {"anon": True}}).kept_to("https://h/map.json")
    assert access.options_for("https://h/x") == {"headers": {"Authorization": "secret"}}
    assert access.options_for("https://evil/x") == {}
    assert access.options_for("s3://b/x") == {"anon": True}
    here = Access({"anon": True})
    assert here.kept_to("/data/map.json") is not None
    assert here.kept_to("/data/map.json").options_for("s3://any/x") == {"anon": True}


def test_secrets_are_hidden() -> None:
    url = "https://me:pass@h/a.nc?X-Amz-Signature=0af3&X-Amz-Date=d&version=2"
    error = FetchFailed(url, f"no answer from {url}")
    for text in (str(error), repr(error), error.url, masked(f"zip://x::{url}")):
        assert "0af3" not in text
        assert "pass" not in text
        assert "version=2" in text
    assert without_secrets(url) == "https://h/a.nc?version=2"
    assert without_secrets("https://h/a?expires=never") == "https://h/a?expires=never"
    assert without_secrets("s3://b/a?versionId=3") == "s3://b/a?versionId=3"


def test_prefixes_that_are_given_one_by_one() -> None:
    one_by_one: Any = iter(["s3://open/secret"])
    policy = Policy(allow=["s3://open/"], deny=one_by_one)
    assert policy.deny == ("s3://open/secret",)
    with pytest.raises(Forbidden):
        policy.check("s3://open/secret/a.nc")
    number: Any = 7
    with pytest.raises(BadRequest):
        Policy(deny=number)
