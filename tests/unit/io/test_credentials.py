"""Providers of credentials: asked when they are needed, again when they expire, and never shown."""

from __future__ import annotations

import http.server
import json
import pickle
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.http_server import serve
from tests.s3_servers import KEY, Bucket, s3_subset

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.access import Access, merged
from byteatlas.io.credentials import asking
from byteatlas.io.credentials.asking import Grant, _kept, provider_named
from byteatlas.io.credentials.earthdata import Earthdata
from byteatlas.io.storage_options import StorageOptions
from byteatlas.types import ByteRange

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""s3fs leaves connections open when it is made anew."""


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_subset({"a.bin": b"0123456789"}) as found:
        yield found


def clock() -> float:
    """The time that those see who ask for keys, which tests move on."""
    return float(vars(asking)["time"].time())


class Expiring:
    """Keys that are let in for an hour each."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket, self.asked = bucket, 0

    def __call__(self, url: str) -> Mapping[str, Any]:
        self.asked += 1
        key = f"AKIA-{self.asked}"
        self.bucket.keys = {key}
        return {"key": key, "secret": "hush", "endpoint_url": self.bucket.url, "expires": clock() + 3600}


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_asked_again_when_they_expire(bucket: Bucket, backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = Expiring(bucket)
    how = Access(backend=backend, credentials={"s3://bucket/": provider})
    source = how.open(bucket.at("a.bin"))
    assert bytes(source.read([ByteRange(0, 2)])[0]) == b"01"
    source.read([ByteRange(2, 2)])
    how.open(bucket.at("a.bin")).size()
    assert provider.asked == 1, "once for all that lies there"
    now = time.time
    monkeypatch.setattr(asking, "time", SimpleNamespace(time=lambda: now() + 3600))
    assert bytes(source.read([ByteRange(4, 2)])[0]) == b"45"
    assert provider.asked == 2
    with pytest.raises(FetchFailed):
        how.open("s3://bucket-evil/a.bin").size()
    assert provider.asked == 2, "they are for their prefix"


def keys_of_the_tests(url: str) -> Mapping[str, Any]:
    return {"key": KEY, "secret": "hush", "expires": datetime.now(UTC) + timedelta(hours=1)}


def test_two_prefixes_of_one_bucket_have_their_own() -> None:
    def by_folder(url: str) -> Mapping[str, Any]:
        return {"key": url.split("/")[3], "secret": "hush"}

    how = Access(credentials={"s3://bucket/x/": by_folder, "s3://bucket/y/": by_folder})
    for folder in ("x", "y", "x"):
        asked = StorageOptions.of(how.storage_options).asked(f"s3://bucket/{folder}/a.bin")
        assert asked is not None
        assert asked.options()["key"] == folder


def test_they_go_to_other_processes_by_name(bucket: Bucket) -> None:
    how = Access({"endpoint_url": bucket.url}, credentials={"s3://bucket/": keys_of_the_tests})
    source = how.open(bucket.at("a.bin"))
    data = pickle.dumps((how, source))
    assert b"hush" not in data
    assert KEY.encode() not in data
    again, there = pickle.loads(data)
    assert again == how
    assert hash(again) == hash(how)
    assert bytes(there.read_all()) == b"0123456789"
    with pytest.raises(BadRequest, match="cannot be sent to other processes"):
        pickle.dumps(Access(credentials={"s3://bucket/": lambda url: {}}))


def test_nothing_is_shown(bucket: Bucket) -> None:
    how = Access(credentials={"s3://bucket/": keys_of_the_tests})
    assert "keys_of_the_tests" in repr(how)
    assert "hush" not in repr(Grant({"secret": "hush"}, None, 0.0)) + repr(how.storage_options)
    asked = StorageOptions.of(how.storage_options).asked(bucket.at("a"))
    assert "hush" not in repr(asked)


def test_what_is_wrong_with_providers() -> None:
    wrong: list[Any] = [{"bucket": "anonymous"}, {"s3://b/": 5}, {"s3://b/": "nobody"}, {"s3://b/": "anonymous=x"}]
    for credentials in wrong:
        with pytest.raises(BadRequest):
            Access(credentials=credentials)

    def fails(url: str) -> Mapping[str, Any]:
        raise RuntimeError("the vault is closed")

    with pytest.raises(FetchFailed, match="the vault is closed") as found:
        Access(credentials={"s3://b/": fails}).open("s3://b/k").size()
    assert found.value.denied
    nothing: Any = str.isspace
    with pytest.raises(BadRequest, match="no mapping"):
        Access(credentials={"s3://b/": nothing}).open("s3://b/k").size()
    with pytest.raises(BadRequest, match="expire"):
        Access(credentials={"s3://b/": lambda url: {"expires": "soon"}}).open("s3://b/k").size()


def test_the_built_in_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    url = "s3://b/k"
    given = {n: dict(provider_named(n)(url)) for n in ("anonymous", "requester_pays", "environment", "profile=x")}
    assert given == {
        "anonymous": {"anon": True}, "requester_pays": {"requester_pays": True}, "environment": {},
        "profile=x": {"profile": "x"},
    }  # fmt: skip
    assert provider_named("anonymous")("gs://b/k") == {"token": "anon"}
    with pytest.raises(BadRequest, match="profiles are for s3"):
        provider_named("profile")("gs://b/k")


def test_anonymous_reads(bucket: Bucket) -> None:
    how = Access({"endpoint_url": bucket.url}, credentials={"s3://bucket/": "anonymous"})
    assert bytes(how.open(bucket.at("a.bin")).read_all()) == b"0123456789"


def test_what_was_opened_differently_is_merged() -> None:
    one, two = Access(credentials={"s3://a/": "anonymous"}), Access(credentials={"s3://b/": "environment"})
    both = merged([(one, lambda: ["s3://a/x"]), (two, lambda: ["s3://b/x"])])
    assert both.credentials == (("s3://a/", "anonymous"), ("s3://b/", "environment"))
    other = Access(credentials={"s3://a/": "environment"})
    with pytest.raises(BadRequest, match="two providers"):
        merged([(one, lambda: []), (other, lambda: [])])


class _Archive(http.server.BaseHTTPRequestHandler):
    """Earthdata Login, and an archive's server for keys, in one."""

    token, said = "token-1", list[str]()
    seconds, keys = 3600.0, {"accessKeyId": KEY, "secretAccessKey": "hush", "sessionToken": "s"}

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _say(self, status: int, document: object) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_POST(self) -> None:
        type(self).said.append(self.path)
        if self.headers["Authorization"] != f"Basic {b64encode(b'me:pass').decode()}":
            self._say(401, {})
        else:
            self._say(200, {"access_token": self.token, "expiration_date": "01/31/2100"})

    def do_GET(self) -> None:
        type(self).said.append(self.path)
        if self.headers["Authorization"] != f"Bearer {self.token}":
            self._say(403, {})
        elif self.path == "/s3credentials":
            until = datetime.fromtimestamp(clock() + self.seconds, UTC)
            self._say(200, {**self.keys, "expiration": until.isoformat(sep=" ")})
        elif self.path == "/bucket/a.bin":
            data = b"over the web"
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)
        else:
            self._say(404, {})

    def do_HEAD(self) -> None:
        self.do_GET()


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    _Archive.said = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Archive)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password pass\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.delenv("EARTHDATA_TOKEN", raising=False)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_earthdata_in_its_region(archive: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket.region, bucket.keys = "us-west-2", {KEY}
    how = Access({"endpoint_url": bucket.url}, credentials={"s3://bucket/": Earthdata(archive, archive)})
    source = how.open(bucket.at("a.bin"))
    assert bytes(source.read_all()) == b"0123456789"
    asked = _Archive.said.count("/s3credentials")
    assert asked == 1
    now = time.time
    monkeypatch.setattr(asking, "time", SimpleNamespace(time=lambda: now() + 3600))
    assert bytes(source.read([ByteRange(0, 1)])[0]) == b"0"
    assert _Archive.said.count("/s3credentials") == 2, "they had expired"


@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_earthdata_elsewhere(archive: str, bucket: Bucket, backend: Any) -> None:
    """The bucket denies; the same file lies on the archive's web server."""
    bucket.region, bucket.keys = "us-west-2", set()
    provider = {"s3://bucket/": Earthdata(archive, archive)}
    how = Access({"s3://bucket/": {"endpoint_url": bucket.url}}, backend=backend, credentials=provider)
    assert bytes(how.open(bucket.at("a.bin")).read_all()) == b"over the web"


def test_earthdata_over_the_web_with_a_token(archive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARTHDATA_TOKEN", "token-1")
    how = Access(credentials={f"{archive}/": Earthdata(archive, archive)})
    assert bytes(how.open(f"{archive}/bucket/a.bin").read_all()) == b"over the web"
    assert not any("token" in path for path in _Archive.said)


def test_earthdata_denies(archive: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cases = {"password wrong": "answered 401", "": "EARTHDATA_TOKEN"}
    for text, said in cases.items():
        (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login me {text}\n" if text else "")
        with pytest.raises(FetchFailed, match=said) as found:
            Earthdata(archive, archive)("s3://bucket/a")
        assert found.value.denied
        assert "wrong" not in str(found.value)
    monkeypatch.setenv("EARTHDATA_TOKEN", "an old one")
    with pytest.raises(FetchFailed, match="answered 403") as found:
        Earthdata(archive, archive)("s3://bucket/a")
    assert "an old one" not in str(found.value)
    with pytest.raises(FetchFailed, match="no archive of NASA"):
        Earthdata(None, archive)("s3://my-bucket/a")


@pytest.mark.parametrize("keys", [{}, {"error": "no"}, {"accessKeyId": KEY, "secretAccessKey": "", "sessionToken": "s"},
                                  {"accessKeyId": KEY, "secretAccessKey": "hush"}, {"accessKeyId": 7}])  # fmt: skip
def test_earthdata_answers_without_keys(
    archive: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> None:
    """Otherwise the keys of the environment would be tried, and show elsewhere."""
    monkeypatch.setattr(_Archive, "keys", keys)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    bucket.region = "us-west-2"
    how = Access(
        {"s3://bucket/": {"endpoint_url": bucket.url}}, credentials={"s3://bucket/": Earthdata(archive, archive)}
    )
    with pytest.raises(FetchFailed, match=r"its answer has no (accessKeyId|secretAccessKey|sessionToken)") as found:
        how.open(bucket.at("a.bin")).read_all()
    assert found.value.denied
    assert "hush" not in str(found.value)
    assert not bucket.requests


def test_earthdata_answers_without_a_token(archive: str, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Archive, "token", "")
    with pytest.raises(FetchFailed, match="no access_token") as found:
        Earthdata(archive, archive)("s3://bucket/a")
    assert found.value.denied


def test_static_options_stay_beside_them() -> None:
    with serve({"/a": b"abc"}) as web:
        how = Access({f"{web.url}/": {"headers": {"x": "1"}}}, credentials={f"{web.url}/": "environment"})
        assert bytes(how.open(f"{web.url}/a").read_all()) == b"abc"


class Halting:
    """Says nothing for a moment; what it says holds for no time."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket, self.halts = bucket, 0

    def __call__(self, url: str) -> Mapping[str, Any]:
        if self.halts:
            self.halts -= 1
            raise FetchFailed(url, "no credentials just now", transient=True)
        return {"key": KEY, "secret": "hush", "endpoint_url": self.bucket.url, "expires": time.time()}


def test_who_gives_no_credentials_for_a_moment_is_asked_again(bucket: Bucket) -> None:
    provider = Halting(bucket)
    source = Access(backend="obstore", credentials={"s3://bucket/": provider}).open(bucket.at("a.bin"))
    provider.halts = 2
    assert bytes(source.read([ByteRange(0, 2)])[0]) == b"01"
    assert not provider.halts


def test_what_is_asked_after_it_was_forgotten_is_new(bucket: Bucket) -> None:
    """Otherwise whoever holds connections would take new keys for those that it has."""
    asked = Access(credentials={"s3://bucket/": Expiring(bucket)}).storage_options
    assert isinstance(asked, StorageOptions)
    found = asked.asked(bucket.at("a.bin"))
    assert found is not None
    before = found.serial()
    _kept.cache_clear()
    assert found.serial() != before
