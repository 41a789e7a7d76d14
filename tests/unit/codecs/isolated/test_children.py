"""Decoding in child processes: what a native decoder may do, the process that asked goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.places import ROOT

from byteatlas.codecs.isolated import children as module
from byteatlas.codecs.isolated.children import Children, ChildRequest, children, decode_apart
from byteatlas.errors import CorruptChunk, Unsupported

LIBRARY = "tests.unit.codecs.isolated.misbehaving"


def ask(function: str, data: bytes = b"abcd", most: int = 64, alone: bool = False, **options: object) -> bytes:
    return bytes(children(LIBRARY).decode(ChildRequest(LIBRARY, function, most, options, None, alone), data))


def test_bytes_come_back_as_they_are() -> None:
    data = np.random.default_rng(0).integers(0, 256, 3_000_001).astype(np.uint8).tobytes()
    assert ask("same", data, len(data)) == data
    assert ask("same", b"") == b""


def test_one_process_decodes_many_chunks_unless_it_may_be_spoiled() -> None:
    assert len({ask("process") for _ in range(5)}) == 1
    assert len({ask("process", alone=True) for _ in range(5)}) == 5


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("die", "SIGSEGV"),
        ("fail", "not a stream"),
        ("long", "12 bytes where the chunk has at most 8"),
        ("greedy", "more memory"),
    ],
)
def test_what_fails_is_a_corrupt_chunk_and_the_next_is_fine(function: str, words: str) -> None:
    for _ in range(2):
        with pytest.raises(CorruptChunk, match=words):
            ask(function, most=8)
        assert ask("same") == b"abcd"


def test_too_much_work_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 1)
    with pytest.raises(CorruptChunk, match="more time"):
        ask("spin")
    monkeypatch.setattr(module, "PATIENCE", 1)
    begin = time.monotonic()
    with pytest.raises(CorruptChunk, match="more time"):
        ask("sleep")
    assert time.monotonic() - begin < 60
    assert ask("same") == b"abcd"


def test_damage_that_an_earlier_chunk_left_is_not_blamed_on_this_one(tmp_path: Path) -> None:
    path = str(tmp_path / "note")
    for _ in range(3):
        assert ask("dies_at_second_call", path=path) == b"abcd"


def test_many_threads_at_once() -> None:
    def one(number: int) -> bool:
        data = number.to_bytes(4, "little") * 1000
        if number % 7 == 0:
            with pytest.raises(CorruptChunk):
                ask("die")
        return ask("same", data, len(data)) == data

    with ThreadPoolExecutor(12) as threads:
        assert all(threads.map(one, range(60)))


def test_after_a_fork_each_process_has_children_of_its_own() -> None:
    mine = ask("process")
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if ask("same") == b"abcd" and ask("process") != mine else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert ask("process") == mine


@pytest.fixture
def through_pipes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the system has no memory to share: all bytes go through the pipes."""
    monkeypatch.delattr(os, "memfd_create", raising=False)
    module._of.cache_clear()
    yield
    children(LIBRARY).close()
    module._of.cache_clear()


def test_without_shared_memory(through_pipes: None) -> None:
    assert module.shared_memory() is None
    data = bytes(range(256)) * 10_000
    for _ in range(3):
        assert ask("same", data, len(data)) == data
    assert len({ask("process", alone=True) for _ in range(3)}) == 3
    with pytest.raises(CorruptChunk, match="SIGSEGV"):
        ask("die")
    assert ask("same") == b"abcd"


def segments(process: int | str = "self") -> list[str]:
    """The shared memory that a process has open."""
    links = [str(link.resolve()) for link in Path(f"/proc/{process}/fd").iterdir()]
    return [link for link in links if "byteatlas-chunk" in link]


def test_shared_memory_is_given_back() -> None:
    """After a child is killed from outside, and when all are closed; nothing of it has a name that could stay."""
    own = Children(LIBRARY)
    before = len(segments())
    request = ChildRequest(LIBRARY, "same", 64, {})
    for _ in range(3):
        assert own.decode(request, b"abcd") == b"abcd"
        (child,) = own._all
        child.process.kill()
        child.process.wait()
    assert own.decode(request, b"abcd") == b"abcd"
    assert len(segments()) == before + 1
    own.close()
    assert len(segments()) == before


def test_a_large_chunk_does_not_keep_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_SHARED", 1000)
    own = Children(LIBRARY)
    for size in (100, 5000):
        assert len(own.decode(ChildRequest(LIBRARY, "same", size, {}), bytes(size))) == size
        (child,) = own._all
        assert child.shared is not None
        assert os.fstat(child.shared.number).st_size == (100 if size == 100 else 0)
    own.close()


def test_a_process_that_went_wrong_may_change_the_shared_memory_only() -> None:
    assert ask("cuts_off") == b"abcd"  # the answer is written afterwards
    with pytest.raises(CorruptChunk, match="too large"):
        ask("fills", most=8)
    assert ask("same") == b"abcd"


@pytest.mark.parametrize(("kind", "most"), [("RLIMIT_FSIZE", 20_000), ("RLIMIT_AS", 64 << 30), ("RLIMIT_CPU", 3600)])
def test_limits_that_the_user_set_are_no_damage(kind: str, most: int) -> None:
    """``ulimit``, as batch systems use it: limits of ours that are higher cannot be set."""
    program = (
        f"import resource; resource.setrlimit(resource.{kind}, ({most}, {most}))\n"
        f"from byteatlas.codecs.isolated import children as module\n"
        f"module.SECONDS, module.MEMORY = 7200, 128 << 30\n"
        f"request = module.ChildRequest({LIBRARY!r}, 'same', 100_000, {{}})\n"
        f"assert module.children({LIBRARY!r}).decode(request, bytes(100_000)) == bytes(100_000)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


def test_children_end_with_their_parent() -> None:
    program = (
        f"from byteatlas.codecs.isolated.children import ChildRequest, children\n"
        f"found = children({LIBRARY!r}).decode(ChildRequest({LIBRARY!r}, 'process', 64, {{}}), b'')\n"
        f"print(int.from_bytes(found, 'little'), flush=True)\nimport os\nos.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    worker = int(done.stdout)
    end = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{worker}").exists()


def test_a_library_that_is_not_there_is_not_the_chunks_fault() -> None:
    with pytest.raises(Unsupported, match="does not start"):
        children("no_such_library").decode(ChildRequest("no_such_library", "same", 64, {}), b"")


def test_images() -> None:
    import imagecodecs

    image = np.add.outer(np.arange(64), np.arange(48)).astype(np.uint8)
    for name in ("jpegls", "ljpeg"):
        data = getattr(imagecodecs, f"{name}_encode")(image)
        assert decode_apart(name, data, image.nbytes).tobytes() == image.tobytes()
        assert decode_apart(name, data, image.nbytes, [[[64, 48], "|u1"]]).tobytes() == image.tobytes()
        with pytest.raises(CorruptChunk, match="an image of shape"):
            decode_apart(name, data, image.nbytes, [[[48, 64], "|u1"]])
