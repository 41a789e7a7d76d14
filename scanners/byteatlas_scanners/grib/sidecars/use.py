"""An index beside a remote file: the heads of all messages in one round of requests."""

from __future__ import annotations

from byteatlas.scanning.contract import Apart, Ask, Parse, Whole
from byteatlas.scanning.parsers import buffers
from byteatlas_scanners.grib.messages.chain import HEAD, FoundMessage, Known
from byteatlas_scanners.grib.messages.indicator import END, indicator
from byteatlas_scanners.grib.sidecars.entries import names_of, offsets

MOST_INDEX = 64 << 20


def from_index(url: str, size: int) -> Parse[Known]:
    """Messages that an index leads to, by their places. What is not as the index says is left out.

    A message counts when it begins where the index says and ends with ``7777`` where another one, or the file's end,
    follows. Everything else is found by following the chain, as without an index.
    """
    places = yield from _places(url, size)
    known: Known = {}
    if not places:
        return known
    asks = [Apart(max(0, at - len(END)), min(HEAD + len(END), size - max(0, at - len(END)))) for at in places]
    asks.append(Apart(size - len(END), len(END)) if size >= len(END) else Apart(0, 0))
    answers = buffers((yield asks))
    heads = {at: bytes(data)[at - ask.offset :] for at, ask, data in zip(places, asks, answers, strict=False)}
    ends = {at for at, data in zip(places, answers, strict=False) if bytes(data[: len(END)]) == END}
    if bytes(answers[-1]) == END:
        ends.add(size)
    for at, head in heads.items():
        here = indicator(head)
        if here is None or here.large:
            continue
        length = here.length
        inside = head[length - len(END) : length] == END if length <= len(head) else at + length in ends
        if inside:
            known[at] = FoundMessage(at, length, here.edition, here.discipline, head[:length])
    return known


def _places(url: str, size: int) -> Parse[list[int]]:
    asks: list[Ask] = [Whole(name, optional=True, most=MOST_INDEX) for name in names_of(url)]
    for answer in (yield asks):
        if isinstance(answer, bytes | bytearray | memoryview):
            found = offsets(answer, size)
            if found:
                return found
    return []
