"""Web servers of all kinds: who gets credentials, where a server may send us, what its answers are worth."""

from __future__ import annotations

import gzip
import http.server
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from byteatlas.errors import FetchFailed, Forbidden, SourceChanged
from byteatlas.io.access import Access
from byteatlas.io.open import open_source
from byteatlas.io.policy import Policy
from byteatlas.io.retry import Retry
from byteatlas.io.source import Source
from byteatlas.types import ByteRange

DATA = bytes(range(256)) * 4
QUICK = Retry(wait=0.001, idle=0.5, deadline=5.0)
Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def answering(answer: Answer) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server on a port of its own: its URL, and the headers of what it was asked."""
    seen: list[dict[str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            seen.append({"method": self.command, "path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
            answer(self)

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def say(handler: Any, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def give(handler: Any, data: bytes = DATA, **headers: str) -> None:
    """As a good server does."""
    wanted = handler.headers.get("Range")
    if wanted is None:
        say(handler, 200, data, **headers)
        return
    first, last = (int(text) for text in wanted.removeprefix("bytes=").split("-"))
    last = min(last, len(data) - 1)
    say(handler, 206, data[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(data)}", **headers)


def read(url: str, policy: Policy | None = None, **options: Any) -> bytes:
    source = open_source(url, options, QUICK, policy)
    assert source.size() == len(DATA)
    parts = source.read([ByteRange(5, 10), ByteRange(700, 100), ByteRange(3, 0)])
    assert bytes(parts[2]) == b""
    return bytes(parts[0]) + bytes(parts[1])


RIGHT = DATA[5:15] + DATA[700:800]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_headers_stay_with_their_server(status: int) -> None:
    with ExitStack() as stack:
        there, elsewhere = stack.enter_context(answering(give))
        to_other = lambda h: say(h, status, Location=f"{there}/y?q=a%20b")  # noqa: E731
        here, asked = stack.enter_context(answering(to_other))
        options: dict[str, Any] = {"headers": {"Authorization": "one"}, "client_kwargs": {"headers": {"X-Key": "two"}}}
        assert read(f"{here}/x", **options) == RIGHT
        assert all(r["authorization"] == "one" and r["x-key"] == "two" for r in asked)
        assert elsewhere
        assert not any({"authorization", "x-key", "cookie"} & r.keys() for r in elsewhere)
        assert {r["path"] for r in elsewhere} == {"/y?q=a%20b"}


def test_headers_go_along_on_the_same_server() -> None:
    def answer(h: Any) -> None:
        if h.path == "/x":
            say(h, 302, Location="/y")
        else:
            give(h)

    with answering(answer) as (url, seen):
        assert read(f"{url}/x", headers={"X-Key": "two"}) == RIGHT
        assert all(r["x-key"] == "two" for r in seen)


def test_each_hop_is_checked() -> None:
    with ExitStack() as stack:
        there, reached = stack.enter_context(answering(give))
        here, _ = stack.enter_context(answering(lambda h: say(h, 302, Location=f"{there}/y")))
        for policy in (
            Policy(deny=[there]),
            Policy(allow=[here]),
            Policy(deny=[there.replace("127.0.0.1", "localhost")]),
        ):
            with pytest.raises(Forbidden):
                read(f"{here}/x", policy)
        assert not reached
        assert read(f"{here}/x", Policy(allow=[here, there])) == RIGHT


@pytest.mark.parametrize("where", ["file:///etc/hostname", "ftp://host/x", "memory://x"])
def test_only_the_web_can_be_redirected_to(where: str) -> None:
    with answering(lambda h: say(h, 302, Location=where)) as (url, _), pytest.raises(FetchFailed, match="no web page"):
        read(f"{url}/x")


def test_redirects_without_end() -> None:
    with answering(lambda h: say(h, 302, Location="/x")) as (url, seen), pytest.raises(FetchFailed, match="redirects"):
        read(f"{url}/x")
    assert len(seen) < 60


def without_head(h: Any) -> None:
    say(h, 405) if h.command == "HEAD" else give(h)


def denied_head(h: Any) -> None:
    say(h, 403) if h.command == "HEAD" else give(h)


def empty_head(h: Any) -> None:
    """As servers answer that make a file only when it is asked for."""
    say(h, 200) if h.command == "HEAD" else give(h)


def no_parts(h: Any) -> None:
    say(h, 200, DATA)


def neither_length_nor_parts(h: Any) -> None:
    h.close_connection = True
    body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (DATA[:100], DATA[100:])) + b"0\r\n\r\n"
    say(h, 200, body, Transfer_Encoding="chunked")


def parts_but_no_total(h: Any) -> None:
    wanted = h.headers.get("Range")
    if h.command == "HEAD" or wanted is None:
        give(h)
        return
    first, last = (int(text) for text in wanted.removeprefix("bytes=").split("-"))
    say(h, 206, DATA[first : last + 1], Content_Range=f"bytes {first}-{last}/*")


@pytest.mark.parametrize(
    "kind", [give, without_head, denied_head, empty_head, no_parts, neither_length_nor_parts, parts_but_no_total]
)
def test_servers_that_can_less(kind: Answer) -> None:
    with answering(kind) as (url, seen):
        assert read(f"{url}/x") == RIGHT
        assert len(seen) <= 6
        assert bytes(open_source(f"{url}/x", None, QUICK).read_all()) == DATA


def test_a_head_that_lies_about_the_size() -> None:
    def answer(h: Any) -> None:
        say(h, 200, Content_Length=str(len(DATA) // 2)) if h.command == "HEAD" else give(h)

    with answering(answer) as (url, _):
        source = open_source(f"{url}/x", None, QUICK)
        assert source.size() == len(DATA) // 2
        with pytest.raises(SourceChanged, match="size"):
            source.read([ByteRange(0, 10)])


def test_a_whole_that_is_compressed_on_the_way() -> None:
    def answer(h: Any) -> None:
        say(h, 200, gzip.compress(DATA), Content_Encoding="gzip")

    with answering(answer) as (url, _):
        assert bytes(open_source(f"{url}/x", None, QUICK).read_all()) == DATA


ACTS: list[Callable[[Source], object]] = [
    lambda s: s.size(),
    lambda s: s.read([ByteRange(0, 4)]),
    lambda s: s.read_all(),
]


@pytest.mark.parametrize(
    ("status", "absent", "denied"),
    [
        (404, True, False),
        (410, True, False),
        (403, False, True),
        (401, False, True),
        (500, False, False),
        (400, False, False),
    ],
)
def test_only_the_server_itself_says_absent(status: int, absent: bool, denied: bool) -> None:
    with answering(lambda h: say(h, status)) as (url, _):
        for act in ACTS:
            with pytest.raises(FetchFailed) as caught:
                act(open_source(f"{url}/z404500.zarr", None, QUICK))
            assert (caught.value.absent, caught.value.denied) == (absent, denied)
            assert ("may need credentials" in str(caught.value)) is denied


def test_what_is_absent_is_asked_for_once() -> None:
    with answering(lambda h: say(h, 404)) as (url, seen):
        with pytest.raises(FetchFailed):
            open_source(f"{url}/z500.zarr", None, QUICK).read([ByteRange(0, 4)])
        assert len(seen) == 1


def test_no_server_at_all() -> None:
    for url in ("http://127.0.0.1:9/x", "http://no-such-host.invalid/x"):
        with pytest.raises(FetchFailed) as caught:
            open_source(url, None, Retry(tries=2, wait=0.001)).read([ByteRange(0, 4)])
        assert not caught.value.absent
        assert caught.value.range == ByteRange(0, 4)


def test_only_what_failed_is_asked_for_again() -> None:
    failed: list[str] = []

    def answer(h: Any) -> None:
        wanted = h.headers.get("Range")
        if wanted == "bytes=8-11" and not failed:
            failed.append(wanted)
            say(h, 503, Retry_After="0")
        else:
            give(h)

    with answering(answer) as (url, seen):
        found = open_source(f"{url}/x", None, QUICK).read([ByteRange(k, 4) for k in (0, 8, 16)])
        assert [bytes(f) for f in found] == [DATA[k : k + 4] for k in (0, 8, 16)]
        assert [r["range"] for r in seen].count("bytes=8-11") == 2
        assert len(seen) == 4


def test_a_server_that_asks_for_more_time_than_there_is() -> None:
    with answering(lambda h: say(h, 503, Retry_After="3600")) as (url, seen):
        with pytest.raises(FetchFailed, match="503"):
            open_source(f"{url}/x", None, QUICK).read([ByteRange(0, 4)])
        assert len(seen) == 1


def test_an_empty_file() -> None:
    with answering(lambda h: say(h, 416 if h.headers.get("Range") else 200)) as (url, _):
        source = open_source(f"{url}/x", None, QUICK)
        assert source.size() == 0
        assert bytes(source.read_all()) == b""


def test_it_can_be_sent_to_another_process() -> None:
    with answering(give) as (url, _):
        source = Access(retry=QUICK).open(f"{url}/x")
        source.read([ByteRange(0, 4)])
        again = pickle.loads(pickle.dumps(source))
        assert bytes(again.read([ByteRange(4, 4)])[0]) == DATA[4:8]


@pytest.mark.parametrize("text", ["\xb2", "9" * 5000, "Mon, 01 Jan 0001 00:00:00 -0000", "soon"])
def test_a_time_to_wait_that_is_no_number(text: str) -> None:
    with answering(lambda h: say(h, 503, Retry_After=text)) as (url, _), pytest.raises(FetchFailed, match="503") as e:
        open_source(f"{url}/x", None, QUICK).size()
    assert e.value.transient


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize(
    ("sent_to", "absent"),
    [
        ("/bucket/store/c/0%200?X-Amz-Signature=1", True),
        ("/mirror/c/0 0", True),
        ("/login?next=/store/c/0%200", False),
        ("/", False),
        ("", False),
        ("/0%200/login", False),
    ],
)
def test_not_found_elsewhere_counts_where_the_name_is_kept(sent_to: str, absent: bool, status: int) -> None:
    """Signed URLs lead to the file itself; a page to log in that is not there says nothing of the file."""
    with ExitStack() as stack:
        there, _ = stack.enter_context(answering(lambda h: say(h, status)))
        to_other = lambda h: say(h, 302, Location=f"{there}{sent_to}")  # noqa: E731
        here, _ = stack.enter_context(answering(to_other))
        for act in ACTS:
            with pytest.raises(FetchFailed) as caught:
                act(open_source(f"{here}/store/c/0%200", None, QUICK))
            assert caught.value.absent is absent
            assert absent or there in str(caught.value)


def test_not_found_on_the_same_server_counts() -> None:
    """Some send all that they do not have to a page that says so."""
    to_page = lambda h: say(h, 404) if h.path == "/404.html" else say(h, 302, Location="/404.html")  # noqa: E731
    with answering(to_page) as (url, _):
        for act in ACTS:
            with pytest.raises(FetchFailed) as caught:
                act(open_source(f"{url}/store/c/0", None, QUICK))
            assert caught.value.absent


PAGE = b"\xef\xbb\xbf\r\n <!DOCTYPE html>\n<title>log in</title>" + b"." * 3000


@pytest.mark.parametrize("page", [PAGE, b"<html>" + PAGE, b'<?xml version="1.0"?><html >' + PAGE, b"<!-- 1 -->" + PAGE])
@pytest.mark.parametrize("parts", [True, False])
def test_a_portal_with_an_etag_is_no_data(parts: bool, page: bytes) -> None:
    """Its page has an etag, a length and parts, as a static file has."""

    def answer(h: Any) -> None:
        about = {"ETag": '"login-1"', "Content_Type": "text/html; charset=utf-8"}
        give(h, page, **about) if parts else say(h, 200, page, **about)

    with answering(answer) as (url, _):
        for where in (ByteRange(0, 64), ByteRange(1000, 64)):
            with pytest.raises(FetchFailed, match="web page") as caught:
                open_source(f"{url}/x.nc", None, QUICK).read([where])
            assert not caught.value.absent
        with pytest.raises(FetchFailed, match="web page"):
            open_source(f"{url}/x.nc", None, QUICK).read_all()


def test_a_portal_whose_page_comes_in_pieces_is_no_data() -> None:
    about = {"ETag": '"login-1"', "Content_Type": "text/html"}

    def answer(h: Any) -> None:
        if not h.headers["Range"].startswith("bytes=0-"):
            give(h, PAGE, **about)
            return
        where = f"bytes 0-511/{len(PAGE)}"
        say(h, 206, PAGE[:5], Content_Range=where, Content_Length="512", **about)
        time.sleep(0.3)
        h.wfile.write(PAGE[5:512])

    with answering(answer) as (url, _), pytest.raises(FetchFailed, match="web page"):
        open_source(f"{url}/x.nc", None, QUICK).read([ByteRange(1000, 64)])


@pytest.mark.parametrize("begin", [b"CDF\x01", b"<?xml version='1.0'?><Dataset>", b"<a-b", b"\x89HDF"])
def test_a_file_that_is_called_a_page_is_data(begin: bytes) -> None:
    """Servers say so of files whose type they do not know."""
    data = begin + DATA[len(begin) :]

    with answering(lambda h: give(h, data, ETag='"1"', Content_Type="text/html")) as (url, seen):
        source = open_source(f"{url}/x", None, QUICK)
        assert bytes(source.read([ByteRange(500, 9)])[0]) == data[500:509]
        assert bytes(source.read([ByteRange(0, 9)])[0]) == data[:9]
        assert len(seen) == 3, "what it is, is looked at once"
        assert bytes(source.read_all()) == data


def test_a_portal_that_comes_later_is_no_data() -> None:
    portal: list[str] = []

    def answer(h: Any) -> None:
        if portal:
            give(h, PAGE[: len(DATA)], Content_Type="text/html", ETag='"p"')
        else:
            give(h, DATA)

    with answering(answer) as (url, _):
        source = open_source(f"{url}/x", None, QUICK)
        assert bytes(source.read([ByteRange(0, 9)])[0]) == DATA[:9]
        portal.append("up")
        with pytest.raises(FetchFailed, match="web page"):
            source.read([ByteRange(500, 9)])
