"""All messages of a file, with few rounds of requests.

On this machine the chain is followed message by message. Far away a round of requests takes long: small messages come
in large windows, and large messages are followed along several chains at the same time. The chains begin at places
that are guessed, evenly spread, at the first whole message behind each. What they find are facts about places; the one
chain that counts is then followed from the file's beginning, through what is known already.
"""

from __future__ import annotations

from itertools import pairwise

from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather
from byteatlas_scanners.grib.messages.chain import HEAD, Damaged, FoundMessage, Known, MessageChain, next_message, walk
from byteatlas_scanners.grib.messages.indicator import MAGIC
from byteatlas_scanners.grib.messages.window import SMALL, Window

MOST_CHAINS = 16
TRIED = 16
"""Places that look like a message and are none, after which a file is taken for something else."""
WORTH = 4
"""Messages that a chain should have, or it is not begun: finding its beginning means to read a message's data."""


def find_messages(size: int, *, far: bool, known: Known | None = None) -> Parse[MessageChain]:
    """The messages of a file of ``size`` bytes.

    Args:
        far: every request is a round trip through a network.
        known: messages that an index led to.
    """
    known = {} if known is None else known
    indexed = bool(known)
    window = Window(size, 0 if far else HEAD)
    at = yield from walk(MessageChain(), window, 0, 1, known)
    if far and not indexed and window.mean > SMALL:
        chains = min(MOST_CHAINS, (size - at) // (window.mean * WORTH))
        if chains > 1:
            edges = [at + (size - at) * k // chains for k in range(chains + 1)]
            parts = [_part(size, begin, stop) for begin, stop in pairwise(edges)]
            for part in (yield from gather(parts)):
                if isinstance(part, dict):
                    known.update(part)
    found = MessageChain()
    yield from walk(found, window, 0, size, known)
    return found


def _part(size: int, begin: int, stop: int) -> Parse[Known]:
    """What a chain that begins at a guessed place meets up to the beginning of the next one."""
    known: Known = {}
    yield from walk(MessageChain(), Window(size), begin, stop, known)
    return known


def begins(size: int, stop: int) -> Parse[bool]:
    """Whether a whole message begins before ``stop``, behind whatever the file begins with."""
    window, at, damaged = Window(size, HEAD), 0, 0
    while damaged < TRIED:
        match (yield from next_message(window, at, min(stop, size))):
            case FoundMessage():
                return True
            case Damaged(offset, _):
                at, damaged = offset + len(MAGIC), damaged + 1
            case None:
                return False
    return False
