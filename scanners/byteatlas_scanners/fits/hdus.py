"""The chain of header and data units (HDUs): where each begins and what kind it is (FITS 4.0, section 3).

Each unit says how long it is, so the next one is known when its header has been read: a round trip for each. Units of
one file are often alike, so places where further ones would be are guessed from the lengths of the last few, and read
at the same time. A guess is believed only when the chain gets there.
"""

from __future__ import annotations

from math import prod

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import ahead, one, settle
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass, field
from byteatlas_scanners.fits.header import BLOCK, FitsHeader, header_end, parse_header

FIRST_READ = 8 * BLOCK
WHOLE_FILE = 4 << 20
"""A file of so many bytes or fewer is fetched as one, where asking costs a round trip."""
LARGEST_HEADER = 64 << 20
LONGEST_PERIOD = 4
FIRST_GUESSES, MOST_GUESSES = 8, 64
MOST_AXES = 999
WIDTHS = (8, 16, 32, 64, -32, -64)


@dataclass(frozen=True, slots=True)
class Hdu:
    """One HDU.

    Attributes:
        number: its place in the file, from 0.
        kind: ``IMAGE``, ``GROUPS``, ``BINTABLE``, ``TABLE``, or what else XTENSION says.
        shape: lengths of the axes, the slowest first; () without data.
        data: where its data begin.
        size: bytes of its data, without padding.
    """

    number: int
    kind: str
    header: FitsHeader
    shape: tuple[int, ...]
    data: int
    size: int

    @property
    def end(self) -> int:
        """Where the next unit begins."""
        return self.data + -(-self.size // BLOCK) * BLOCK

    @property
    def locator(self) -> str:
        return f"hdu/{self.number}"


@dataclass(frozen=True, slots=True)
class HduChain:
    """All units of a file.

    Attributes:
        fault: why the chain ends where it does, when the file has more of it.
        surplus: bytes after the last unit that are none.
    """

    units: tuple[Hdu, ...]
    fault: FileFault | None = None
    surplus: int = 0


@dataclass(slots=True)
class _Guesses:
    """Beginnings of headers that were read before the chain got there."""

    known: dict[int, Buffer] = field(default_factory=dict)
    spans: list[int] = field(default_factory=list)
    budget: int = FIRST_GUESSES
    length: int = FIRST_READ

    def places(self, at: int, size: int) -> list[int]:
        """Where further headers may be, if lengths repeat with some period; not ``at`` itself."""
        found: dict[int, None] = {}
        for period in range(1, min(LONGEST_PERIOD, len(self.spans)) + 1):
            place = at
            for step in range(self.budget):
                place += self.spans[step % period - period]
                if place + BLOCK > size or len(found) >= self.budget:
                    break
                found[place] = None
        return [p for p in found if p != at and p not in self.known]


def read_chain(size: int) -> Parse[HduChain]:
    """The units of a file of ``size`` bytes. Raises `CorruptFile` when not even the first can be read."""
    if size <= WHOLE_FILE:
        yield from ahead(0, size)
    units: list[Hdu] = []
    guesses = _Guesses()
    at = 0
    while at < size:
        try:
            unit = yield from _unit(len(units), at, size, guesses)
        except FileFault as error:
            if not units:
                raise
            return HduChain(tuple(units), error)
        if unit is None:
            break
        units.append(unit)
        at = unit.end
    return HduChain(tuple(units), None, max(0, size - at))


def _unit(number: int, at: int, size: int, guesses: _Guesses) -> Parse[Hdu | None]:
    """The unit that begins here; None when what is here is none."""
    if size - at < BLOCK:
        return None
    begin = yield from _beginning(at, size, guesses)
    if number and bytes(begin[:8]) != b"XTENSION":
        return None
    text = yield from _whole_header(begin, at, size)
    header = parse_header(text, at)
    guesses.length = min(FIRST_READ, len(text))
    kind, shape, length = extent(header, number)
    unit = Hdu(number, kind, header, shape, at + len(text), length)
    guesses.spans = [*guesses.spans, unit.end - at][-LONGEST_PERIOD:]
    return unit


def _beginning(at: int, size: int, guesses: _Guesses) -> Parse[Buffer]:
    """The first bytes of a header; when they are not at hand, those at likely places are fetched with them."""
    if at in guesses.known:
        return guesses.known.pop(at)
    missed = bool(guesses.known)
    guesses.known.clear()
    if missed:
        guesses.budget = max(1, guesses.budget // 4)
    elif guesses.spans:
        guesses.budget = min(MOST_GUESSES, 2 * guesses.budget)
    others = guesses.places(at, size)
    lengths = [min(FIRST_READ, size - at), *(min(guesses.length, size - p) for p in others)]
    found = yield from settle([ByteRange(p, n) for p, n in zip((at, *others), lengths, strict=True)])
    for place, data in zip(others, found[1:], strict=True):
        if not isinstance(data, FileFault) and bytes(data[:8]) == b"XTENSION":
            guesses.known[place] = data
    if isinstance(found[0], FileFault):
        raise found[0]
    beginning: Buffer = found[0]
    return beginning


def _whole_header(begin: Buffer, at: int, size: int) -> Parse[bytes]:
    """All blocks of a header. Raises `CorruptFile` when it has no end."""
    data, most = bytes(begin), min(LARGEST_HEADER, size - at)
    while (end := header_end(data)) is None or end > len(data):
        if len(data) >= most:
            raise CorruptFile(at, "a header without an END card" if end is None else "the file ends within a header")
        more = min(most, 4 * len(data)) - len(data)
        data += yield from one(ByteRange(at + len(data), more))
    return data[:end]


def extent(header: FitsHeader, number: int) -> tuple[str, tuple[int, ...], int]:
    """Kind, axes and bytes of a unit's data (equations 1 and 2). Raises `CorruptFile`, `Unsupported`."""
    kind = header.text("XTENSION").upper() if number else "IMAGE"
    if not number and header.first.get("SIMPLE") is not True:
        raise Unsupported(Reason.LAYOUT, "SIMPLE is not T: the file does not conform to the FITS standard")
    bits, count = header.integer("BITPIX"), header.integer("NAXIS")
    if bits not in WIDTHS or not 0 <= count <= MOST_AXES:
        raise CorruptFile(header.at, f"BITPIX is {bits}, NAXIS is {count}")
    axes = [header.integer(f"NAXIS{i}") for i in range(count, 0, -1)]
    if any(n < 0 for n in axes):
        raise CorruptFile(header.at, f"axes of lengths {axes[::-1]}")
    groups = not number and count > 0 and axes[-1] == 0 and header.first.get("GROUPS") is True
    surplus, copies = header.integer("PCOUNT", 0), header.integer("GCOUNT", 1)
    if groups:
        surplus, copies = header.integer("PCOUNT"), header.integer("GCOUNT")
    elif not number:
        surplus, copies = 0, 1
    if surplus < 0 or copies < 0:
        raise CorruptFile(header.at, f"PCOUNT is {surplus}, GCOUNT is {copies}")
    inner = prod(axes[:-1] if groups else axes) if axes else 0
    size = abs(bits) // 8 * copies * (surplus + inner)
    return ("GROUPS" if groups else "BINTABLE" if kind == "A3DTABLE" else kind), tuple(axes), size
