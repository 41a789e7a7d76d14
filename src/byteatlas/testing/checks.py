"""The checks of the conformance kit. Each takes a case and gives what is wrong, in sentences."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from byteatlas.errors import BadRequest, ByteatlasError, FetchFailed, FileFault
from byteatlas.manifest.model import WHOLE, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, ScanOptions
from byteatlas.scanning.driver import SNIFFED, run
from byteatlas.scanning.duties import chosen, misfit
from byteatlas.scanning.report import INCOMPLETE
from byteatlas.testing.case import Case
from byteatlas.testing.faulty import Faulty, Trouble, faulty_opener
from byteatlas.testing.fingerprint import contents, fingerprint
from byteatlas.values import dataclass, replace

ScannerCheck: TypeAlias = Callable[[Case], Iterable[str]]

TRUNCATIONS = 64
DAMAGES = 120
MOST_ASKS = 5000
"""Asks of one scan at which a fault is put, at most; of more, evenly spread ones."""
STATUSES = frozenset({"virtual", "inlined", "side file", "refused", INCOMPLETE})


@dataclass(frozen=True, slots=True)
class Deviation:
    """Something that is wrong with a scanner."""

    case: str
    check: str
    detail: str

    def __str__(self) -> str:
        return f"{self.case}, {self.check}: {self.detail}"


def recognition(case: Case) -> Iterator[str]:
    """The file is recognised, by its first bytes or by a search; nothing and noise are not."""
    first = FirstBytes(case.data[:SNIFFED], case.url, len(case.data))
    here = SourceInfo(case.url, len(case.data))
    if not case.scanner.sniff(first) and not run(case.scanner.search(here), case.source(), case.opener(), block=0):
        yield "its own file is not recognised"
    noise = random.Random(0).randbytes(SNIFFED)
    for data in (b"", b"\0" * SNIFFED, noise):
        if case.scanner.sniff(FirstBytes(data, "memory://noise", len(data))):
            yield f"noise is recognised ({data[:8]!r}...)"


def declared_options(case: Case) -> Iterator[str]:
    """Defaults are of their types; options that are not declared are refused."""
    scanner = case.scanner
    try:
        chosen(scanner, ScanOptions(extra={scanner.name: {o.name: o.default for o in scanner.options}}))
    except BadRequest as error:
        yield f"a default is not of its option's type: {error}"
    try:
        case_with(case, {"no_such_option": 1}).scan()
    except BadRequest:
        return
    yield "an option that is not declared is taken without a word"


def case_with(case: Case, own: dict[str, object]) -> Case:
    """The case with these options of the scanner's own."""
    return replace(case, options=replace(case.options, extra={case.scanner.name: own}))


def same_again(case: Case) -> Iterator[str]:
    """A second scan gives the same; so does one through a cache of blocks, as remote files are read."""
    first = fingerprint(case.scan())
    if fingerprint(case.scan()) != first:
        yield "a second scan gives something else"
    if fingerprint(case.scan(block=512)) != first:
        yield "a scan through a block cache gives something else"


def report(case: Case) -> Iterator[str]:
    """What the scanner itself returns: manifests fit their arrays, and every dataset is in the report."""
    source = SourceInfo(case.url, len(case.data))
    found = run(case.scanner.scan(source, case.options), case.source(), case.opener(), block=0)
    yield from incomplete(found)
    for path, node in found.walk():
        if not isinstance(node, VirtualArray):
            continue
        why = misfit(node)
        rows = node.manifest.load()
        if why is None and len(rows.source) and int(rows.source.max()) >= len(rows.sources):
            why = "a chunk is in a source that the manifest does not list"
        if why is not None:
            yield f"{path}: {why}"


def incomplete(found: VirtualGroup) -> Iterator[str]:
    """What a report lacks."""
    items = {item.path: item for item in found.report}
    nodes = dict(found.walk())
    for item in found.report:
        if item.status not in STATUSES:
            yield f"report: unknown status {item.status!r} of {item.path!r}"
        if item.status in ("refused", INCOMPLETE) and not (item.reason and item.detail):
            yield f"report: {item.path!r} is {item.status} without a reason or a detail"
        if item.status == "refused" and isinstance(nodes.get(item.path), VirtualArray):
            yield f"report: {item.path!r} is refused, but presented"
        if item.status in ("virtual", "inlined") and item.path not in nodes:
            yield f"report: {item.path!r} is {item.status}, but not there"
    for path, node in nodes.items():
        if isinstance(node, VirtualArray) and node.manifest.sources and path not in items:
            yield f"report: {path!r} is presented, but not mentioned"


def inlining(case: Case) -> Iterator[str]:
    """Chunks that are copied into the map are the bytes that the references lead to."""
    plain = case.scan()
    inlined = replace(case, options=replace(case.options, inline_below=1 << 16)).scan()
    nodes = dict(inlined.walk())
    if list(nodes) != [path for path, _ in plain.walk()]:
        yield "inlining changes which nodes there are"
        return
    for path, node in plain.walk():
        other = nodes[path]
        if not isinstance(node, VirtualArray) or not isinstance(other, VirtualArray):
            continue
        rows, copied = node.manifest.load(), other.manifest.load().inlined
        for row, data in copied.items():
            here = int(rows.source[row])
            if here < 0 or rows.sources[here].url != case.url or rows.length[row] == WHOLE:
                continue
            begin = int(rows.offset[row])
            if data != case.data[begin : begin + int(rows.length[row])]:
                yield f"{path}: inline chunk {row} is not what its reference leads to"


def single_groups(case: Case) -> Iterator[str]:
    """Each group by itself holds what it holds in the whole."""
    whole = case.scan()
    for path, node in whole.walk():
        if isinstance(node, VirtualGroup):
            part = replace(case, options=replace(case.options, group=path)).scan()
            if [p for p, _ in part.walk()] != [p for p, _ in node.walk()]:
                yield f"group {path!r} by itself holds something else"


def truncation(case: Case) -> Iterator[str]:
    """A file that is cut off gives a fault of the file, or a result that says what is missing."""
    size, whole = len(case.data), contents(case.scan())
    lengths = {size * k // TRUNCATIONS for k in range(TRUNCATIONS)} | {size - k for k in (1, 2, 4, 8, 16) if k < size}
    for length in sorted(lengths - {0}):
        found = outcome(case.with_data(case.data[:length]))
        if isinstance(found, str):
            yield f"cut off after {length} bytes: {found}"
        elif found is not None:
            said = _says_something(found)
            if contents(found) < whole and not said:
                yield f"cut off after {length} bytes: less is found, and the report does not say so"
            if not said and _beyond(found, case.url, length):
                yield f"cut off after {length} bytes: chunks lie beyond the end, and the report does not say so"


def _says_something(found: VirtualGroup) -> bool:
    return any(item.status in ("refused", INCOMPLETE) or item.detail for item in found.report)


def _beyond(found: VirtualGroup, url: str, size: int) -> bool:
    """Whether a chunk lies beyond the end of the file."""
    for _, node in found.walk():
        if isinstance(node, VirtualArray):
            rows = node.manifest.load()
            own = [i for i, info in enumerate(rows.sources) if info.url == url]
            mine = np.isin(rows.source, own) & (rows.length != WHOLE)
            if bool((rows.offset[mine] + rows.length[mine] > np.uint64(size)).any()):
                return True
    return False


def hostile_sizes(case: Case) -> Iterator[str]:
    """Numbers in the file made huge, or zero: a fault of the file or a result, in bounded time."""
    chance = random.Random(case.name)
    for _ in range(DAMAGES):
        data = bytearray(case.data)
        width = chance.choice((1, 2, 4, 8))
        at = chance.randrange(max(1, len(data) - width))
        if chance.random() < 0.7:  # most structures are near the beginning
            at %= 4096
        data[at : at + width] = chance.choice((b"\xff", b"\x7f", b"\0", b"\x80")) * width
        found = outcome(case.with_data(bytes(data)))
        if isinstance(found, str):
            yield f"{width} bytes at {at} made {bytes(data[at : at + 1])!r}: {found}"
        elif found is not None:
            yield from (f"{width} bytes at {at} made {bytes(data[at : at + 1])!r}: {s}" for s in incomplete(found))


def outcome(case: Case) -> VirtualGroup | str | None:
    """What a scan of a damaged file gives: a result, None for a fault of the file, else what is wrong with it."""
    begin = time.monotonic()
    try:
        found: VirtualGroup | None = case.scan()
    except FileFault:
        found = None
    except ByteatlasError as error:
        return f"{type(error).__name__} is no fault of the file: {error}"
    except (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, OSError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"
    except (RecursionError, AssertionError, NotImplementedError, UnicodeError) as error:
        return f"{type(error).__name__}: {error}"
    taken = time.monotonic() - begin
    return f"took {taken:.1f} s" if taken > case.seconds else found


def faults(case: Case) -> Iterator[str]:
    """A failure of the network at any ask ends the scan with URL and range, or changes nothing."""
    yield from _faults(case, 0)


def faults_of_requests(case: Case) -> Iterator[str]:
    """The same for the merged requests of remote files."""
    yield from _faults(case, 4096)


def _faults(case: Case, block: int) -> Iterator[str]:
    trouble = Trouble()
    undisturbed = fingerprint(_troubled(case, trouble, block))
    total = trouble.count
    for number in range(0, total, -(-total // MOST_ASKS)):
        trouble = Trouble(number)
        try:
            found = _troubled(case, trouble, block)
        except FetchFailed as error:
            if not error.url or (trouble.failed is not None and error.range is None):
                yield f"a failure at ask {number} of {total} ends in an error without URL and range: {error}"
        except Exception as error:  # whatever else it is, it is named
            yield f"a failure at ask {number} of {total} ends in {type(error).__name__}: {error}"
        else:
            if fingerprint(found) != undisturbed:
                yield f"a failure at ask {number} of {total} gives another result"


def _troubled(case: Case, trouble: Trouble, block: int) -> VirtualGroup:
    return case.scan(Faulty(case.source(), trouble), faulty_opener(case.opener(), trouble), block=block)


CHECKS: tuple[ScannerCheck, ...] = (
    recognition,
    declared_options,
    same_again,
    report,
    inlining,
    single_groups,
    truncation,
    hostile_sizes,
    faults,
    faults_of_requests,
)


def conform(case: Case, checks: Iterable[ScannerCheck] = CHECKS) -> list[Deviation]:
    """All that is wrong with a scanner on one file; empty when it keeps the contract."""
    return [Deviation(case.name, check.__name__, detail) for check in checks for detail in check(case)]


def assert_conforms(case: Case, checks: Iterable[ScannerCheck] = CHECKS) -> None:
    """Raises `AssertionError` with everything that is wrong."""
    found = conform(case, checks)
    if found:
        raise AssertionError("\n".join(map(str, found)))
