"""Storage options of s3fs, gcsfs, adlfs and obstore mean the same, and a misspelt one is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.http_server import serve
from tests.s3_servers import s3_subset

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.access import Access
from byteatlas.io.sources.filesystem import file_system
from byteatlas.io.sources.objects.options import Untranslatable, arguments

REGION = {"disable_bulk_delete": True, "region": "us-east-1"}


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.mark.parametrize(
    ("protocol", "given", "config", "client"),
    [
        ("s3", {"anon": True}, {**REGION, "skip_signature": True}, {}),
        ("s3", {"anon": False, "default_block_size": 5, "skip_instance_cache": True}, REGION, {}),
        (
            "s3a",
            {"key": "k", "secret": "s", "token": "t"},
            {**REGION, "access_key_id": "k", "secret_access_key": "s", "session_token": "t"},
            {},
        ),
        (
            "s3",
            {
                "anon": True,
                "client_kwargs": {"endpoint_url": "http://h:1", "region_name": "eu", "verify": False},
            },
            {"skip_signature": True, "endpoint": "http://h:1", "region": "eu", "disable_bulk_delete": True},
            {"allow_http": True, "allow_invalid_certificates": True},
        ),
        ("s3", {"requester_pays": True}, {**REGION, "request_payer": True}, {}),
        ("s3", {"aws_access_key_id": "k"}, {**REGION, "access_key_id": "k"}, {}),
        (
            "s3",
            {"config_kwargs": {"s3": {"addressing_style": "virtual"}, "retries": {}}},
            {**REGION, "virtual_hosted_style_request": True},
            {},
        ),
        ("gs", {"token": "anon"}, {"skip_signature": True}, {}),
        ("gcs", {"token": "/x/key.json"}, {"application_credentials": "/x/key.json"}, {}),
        ("az", {"account_name": "a", "sas_token": "s"}, {"account_name": "a", "sas_key": "s"}, {}),
        (
            "abfs",
            {"connection_string": "AccountName=a;AccountKey=k==;BlobEndpoint=http://h/a"},
            {"account_name": "a", "account_key": "k==", "endpoint": "http://h/a"},
            {"allow_http": True},
        ),
    ],
)
def test_translated(protocol: str, given: dict[str, Any], config: dict[str, Any], client: dict[str, Any]) -> None:
    made = arguments(protocol, "b", given)
    assert made.bucket == "b"
    assert made.config == config
    assert made.client == client


def test_a_container_and_its_account() -> None:
    made = arguments("abfss", "box@account.dfs.core.windows.net", {})
    assert (made.bucket, made.config) == ("box", {"account_name": "account"})
    with pytest.raises(BadRequest, match="account_name"):
        arguments("az", "box", {})


def test_profiles(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile ocean]\nregion = eu-west-3\n[profile asks]\nsso_session = x\n")
    (tmp_path / "credentials").write_text("[ocean]\naws_access_key_id = k\naws_secret_access_key = hush\n")
    made = arguments("s3", "b", {"profile": "ocean"})
    assert made.config == {
        "access_key_id": "k", "secret_access_key": "hush", "region": "eu-west-3", "disable_bulk_delete": True,
    }  # fmt: skip
    with pytest.raises(BadRequest, match="no profile 'sea'"):
        arguments("s3", "b", {"profile": "sea"})
    with pytest.raises(BadRequest, match="have to be asked for"):
        arguments("s3", "b", {"profile": "asks"})
    (tmp_path / "credentials").write_text("hush\n")
    with pytest.raises(BadRequest, match="cannot be read") as found:
        arguments("s3", "b", {"profile": "ocean"})
    assert "hush" not in str(found.value)


@pytest.mark.parametrize(
    "given", [{"s3_additional_kwargs": {}}, {"client_kwargs": {"odd": 1}}, {"version_aware": True}]
)
def test_what_only_fsspec_can_do_goes_there(given: dict[str, Any]) -> None:
    with pytest.raises(Untranslatable, match="fsspec"):
        file_system("s3://b/k", Access({**given, "anon": True}, backend="obstore").storage_options)
    if "odd" not in str(given):
        living, _ = file_system("s3://b/k", Access({**given, "anon": True}).storage_options)
        assert type(living()).__name__ == "S3FileSystem"


@pytest.mark.parametrize("backend", ["obstore", "fsspec", None])
def test_a_misspelt_option_is_an_error(backend: Any) -> None:
    with pytest.raises(BadRequest, match=r"did you mean 'anon'\?"):
        Access({"annon": True}, backend=backend).open("s3://b/k")
    with pytest.raises(BadRequest, match=r"did you mean 'headers'\?"):
        Access({"heders": {}}, backend=backend).open("http://localhost/k")


def test_obstore_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fsspec's back end is not installed, what only that can do is an error that says so."""
    from byteatlas.io.sources.objects import choose

    monkeypatch.setattr(choose, "find_spec", lambda name: None)
    with s3_subset({"a.bin": b"abc"}) as bucket:
        assert bytes(Access(bucket.options()).open(bucket.at("a.bin")).read_all()) == b"abc"
        with pytest.raises(BadRequest, match="s3_additional_kwargs"):
            Access(bucket.options(s3_additional_kwargs={"x": 1})).open(bucket.at("a.bin"))
        with pytest.raises(BadRequest, match="obstore cannot name this object"):
            Access(bucket.options()).open(bucket.at("a//b"))
        monkeypatch.setattr(choose, "was_forked", lambda: True)
        assert bytes(Access(bucket.options()).open(bucket.at("a.bin")).read_all()) == b"abc", "there is nothing else"


class SecondChoice:
    """Keys, and another place for those that these are denied to."""

    def __init__(self, web: str) -> None:
        self.web = web

    def __call__(self, url: str) -> dict[str, Any]:
        return {"key": "other", "secret": "x", "otherwise": {"at": self.web}}


@pytest.mark.parametrize("backend", [None, "obstore", "fsspec"])
@pytest.mark.parametrize("keys", [set(), {"other"}])
def test_a_denied_first_choice(backend: Any, keys: set[str]) -> None:
    with s3_subset({"f/a.bin": b"from the bucket"}) as bucket, serve({"/there/f/a.bin": b"over the web"}) as web:
        bucket.keys = keys
        provider = {"s3://bucket/": SecondChoice(f"{web.url}/there/")}
        how = Access({"s3://bucket/": {"endpoint_url": bucket.url}}, backend=backend, credentials=provider)
        source = how.open(bucket.at("f/a.bin"))
        assert bytes(source.read_all()) == (b"from the bucket" if keys else b"over the web")
        assert bool(web.requests) is not bool(keys)
        bucket.plan = lambda number, method, path: "503"
        if keys:
            with pytest.raises(FetchFailed, match=r"503|SlowDown") as found:
                how.open(bucket.at("f/a.bin")).read_all()
            assert not found.value.denied
            assert not web.requests, "an outage is no refusal"


def test_an_unknown_backend() -> None:
    with pytest.raises(BadRequest, match="known: obstore, fsspec"):
        Access(backend="pigeons")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # fsspec's caches leave files open
def test_options_inside_of_chains(tmp_path: Path) -> None:
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", b"inside")
    with s3_subset({"a.bin": b"0123456789", "a.zip": packed.getvalue()}) as bucket:
        for url, options, found in (
            ("simplecache::s3://bucket/a.bin", bucket.options(), b"0123456789"),
            ("blockcache::s3://bucket/a.bin", {"s3://bucket/": bucket.options()}, b"0123456789"),
            (
                "simplecache::s3://bucket/a.bin",
                {"s3": bucket.options(), "simplecache": {"cache_storage": str(tmp_path / "c")}},
                b"0123456789",
            ),
            ("zip://a.txt::s3://bucket/a.zip", {"s3://bucket/": bucket.options()}, b"inside"),
            ("zip://a.txt::simplecache::S3://bucket/a.zip", {"s3": bucket.options()}, b"inside"),
        ):
            assert bytes(Access(options).open(url).read_all()) == found, url
        assert (tmp_path / "c").is_dir()
        with pytest.raises(BadRequest, match="did you mean 'secret'"):
            Access({**bucket.options(), "secrt": "x"}).open("simplecache::s3://bucket/a.bin")


def test_protocols_in_capitals() -> None:
    from tests.http_server import serve

    with s3_subset({"a.bin": b"0123456789"}) as bucket, serve({"/a.bin": b"abc"}) as web:
        assert bytes(Access(bucket.options()).open("S3://bucket/a.bin").read_all()) == b"0123456789"
        assert bytes(Access().open(web.url.replace("http", "HTTP") + "/a.bin").read_all()) == b"abc"
