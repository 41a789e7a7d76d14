"""Damaged chunks for every codec, each codec in a process of its own with limits of time and memory."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from tests.fuzz.crash import crash_place
from tests.fuzz.examples import WITHOUT_EXAMPLE, pipelines
from tests.fuzz.run_hdf5 import mutate

from byteatlas.codecs import Pipeline
from byteatlas.errors import ByteatlasError

MEMORY = 1 << 30
SECONDS = 10
LARGE = (0, 1, 127, 255, 1 << 15, (1 << 16) - 1, 1 << 24, (1 << 31) - 1, (1 << 32) - 1, 1 << 40, (1 << 63) - 1)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A mutant: as for files, or with a large number near its beginning, where sizes are."""
    if not data:
        return rng.randbytes(rng.choice((0, 1, 4, 16, 200)))
    if rng.random() < 0.6:
        return mutate(data, rng)
    out = bytearray(data)
    at, width = rng.randrange(min(len(out), 64)), rng.choice((1, 2, 4, 8))
    out[at : at + width] = rng.choice(LARGE).to_bytes(8, rng.choice(("little", "big")))[-width:]
    return bytes(out)


def check(pipeline: Pipeline, data: bytes) -> None:
    """A damaged chunk decodes to an array of the chunk's shape and type, or is an error of ours."""
    try:
        found = pipeline.decode(data)
    except ByteatlasError:
        return
    if found.shape != pipeline.shape or found.dtype != pipeline.dtype:
        raise AssertionError(f"{found.shape} {found.dtype} where the chunk has {pipeline.shape} {pipeline.dtype}")


def attack(name: str, seed: int, cases: int, begin: Callable[[int, bytes], None]) -> list[str]:
    """Decode so many damaged chunks; gives what came out and should not have. ``begin`` is called before each."""
    rng = random.Random(f"{name} {seed}")
    targets = list(pipelines(name))
    if not targets:
        raise AssertionError(f"no chain with {name!r} can be made: tests.fuzz.examples needs a configuration for it")
    if name not in WITHOUT_EXAMPLE and not any(sound for _, sound in targets):
        raise AssertionError(f"no sound chunk of {name!r}: tests.fuzz.examples needs one, or an encoder that makes one")
    found = []
    for case in range(cases):
        pipeline, sound = rng.choice(targets)
        data = damaged(rng.choice([b"", *sound, *sound, *sound, *sound]), rng)
        begin(case, data)
        clock = time.process_time()
        try:
            check(pipeline, data)
        except Exception as error:
            found.append(f"{name}: {type(error).__name__} at {crash_place(error)}: {error} ({data[:64].hex()})")
        if time.process_time() - clock > SECONDS / 2:
            found.append(f"{name}: {time.process_time() - clock:.1f} s ({data[:64].hex()})")
    return found


Attack: TypeAlias = Callable[[str, int, int, Callable[[int, bytes], None]], list[str]]


def apart(name: str, seed: int, cases: int, attacking: Attack = attack) -> list[str]:
    """The same in a fork: also tells of chunks that end the process, hang it, or take more than `MEMORY`."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    held = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    child = os.fork()
    if not child:
        _attack_and_end(name, seed, cases, writing, attacking)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        lines = stream.read().decode("utf-8", "replace").splitlines()
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    found = [line[1:] for line in lines if line.startswith("!")]
    if code:
        last = next((line for line in reversed(lines) if not line.startswith("!")), "no chunk")
        how = signal.Signals(-code).name if code < 0 else f"status {code}"
        found.append(f"{name}: ended with {how} at chunk {last}")
    more = usage.ru_maxrss * 1024 - held  # a fork begins with the memory of the tests before it
    if more > MEMORY:
        found.append(f"{name}: {more >> 20} MiB of memory")
    return found


def _attack_and_end(name: str, seed: int, cases: int, writing: int, attacking: Attack) -> None:
    status = 9
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + 2 * MEMORY,) * 2)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

        def begin(case: int, data: bytes) -> None:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, 30 * SECONDS)
            os.write(writing, f"{case} {data[:400].hex()}\n".encode())

        with np.errstate(all="ignore"):
            for line in attacking(name, seed, cases, begin):
                os.write(writing, ("!" + " ".join(line.split()) + "\n").encode("utf-8", "replace"))
        status = 0
    except BaseException:
        os.write(writing, ("!" + name + ": " + " ".join(traceback.format_exc().split()) + "\n").encode())
    finally:
        os._exit(status)
