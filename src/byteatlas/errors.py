"""What can go wrong, and whose fault it is.

One root, :class:`ByteatlasError`. Each leaf answers "who has to act": the owner of the file (`CorruptFile`,
`CorruptChunk`, `InvalidMetadata`, `Absent`), we (`Unsupported`), the caller (`NotFound`, `BadRequest`, `Conflict`,
`MissingExtra`), the network (`FetchFailed`), whoever replaced a file after it was indexed (`SourceChanged`), or the
policy in force (`Forbidden`). Facts are fields; the message is one line made of them.

The leaves under :class:`FileFault` say something of a file that is the same however often it is read. Parsers may catch
these and go on with the rest of the file. All others (the network above all) say nothing of the file: code that takes
one of them for a property of the file makes a wrong result out of a failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from byteatlas.types import ByteRange


def _shown(text: str) -> str:
    """A text as it may be shown: the URLs in it without secrets."""
    if "://" not in text:
        return text
    from byteatlas.masking import masked

    return masked(text)


class ByteatlasError(Exception):
    """The root of all errors that byteatlas raises on purpose. They can be pickled, whatever their arguments.

    >>> try:
    ...     ba.scan("lost.nc")
    ... except ba.ByteatlasError as error:
    ...     print(type(error).__name__)
    FetchFailed
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made anew from ``args``, which is the message here and not what __init__ takes.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ByteatlasError], args: tuple[Any, ...], fields: dict[str, Any]) -> ByteatlasError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class FileFault(ByteatlasError):
    """The fault lies in a file, or in what a file leads to: trying again gives the same.

    A scan reports such a fault at the dataset that it concerns, and goes on.
    """


class CorruptFile(FileFault):
    """An archive file breaks its own format's rules.

    >>> try:
    ...     ba.scan("damaged.nc")
    ... except ba.CorruptFile as error:
    ...     print(str(error).partition(": ")[2])
    truncated: 100 bytes of 12936
    """

    def __init__(self, offset: int, why: str, url: str | None = None) -> None:
        super().__init__(_shown(f"{url or 'file'}, byte {offset}: {why}"))
        self.offset, self.why, self.url = offset, why, url

    def at(self, url: str) -> CorruptFile:
        """The same error with the file's URL filled in (parsers do not know it)."""
        return CorruptFile(self.offset, self.why, self.url or url)


class InvalidMetadata(FileFault):
    """A Zarr metadata document or a reference map is not what its specification says.

    >>> ba.open({"version": 1, "refs": {".zgroup": "[]"}})
    Traceback (most recent call last):
        ...
    byteatlas.errors.InvalidMetadata: map: .zgroup: metadata must be an object
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where}: {why}" if where else why)
        self.where, self.why = where, why


def _place(array: str | None, chunk: tuple[int, ...] | None, url: str | None, range: ByteRange | None) -> str:
    """What is known of where something went wrong, as text."""
    place = [f"array {array!r}" if array is not None else "", f"chunk {chunk}" if chunk is not None else ""]
    if url is not None:
        place.append(f"{url}" + (f" bytes {range.offset}+{range.length}" if range else ""))
    return ", ".join(p for p in place if p)


class CorruptChunk(FileFault):
    """The bytes of one chunk do not decode: bad checksum, bad stream, wrong decoded size.

    >>> refs = {}
    >>> ba.write(ba.scan("jan.nc"), refs)
    >>> refs["refs"]["air/0.0.0"] = "base64:AAAA"
    >>> try:
    ...     ba.open(refs)["air"][0]
    ... except ba.CorruptChunk as error:
    ...     print(str(error).partition(": ")[0])
    array 'air', chunk (0, 0, 0), inline data
    """

    def __init__(
        self,
        why: str,
        *,
        array: str | None = None,
        chunk: tuple[int, ...] | None = None,
        url: str | None = None,
        range: ByteRange | None = None,
    ) -> None:
        head = _place(array, chunk, url, range)
        super().__init__(_shown(f"{head}: {why}" if head else why))
        self.why, self.array, self.chunk, self.url, self.range = why, array, chunk, url, range


class Unsupported(FileFault):
    """Legal input that byteatlas does not (yet) handle. ``reason`` is a stable code (`byteatlas.scanning.reasons`).

    >>> try:
    ...     ba.scan("refused.h5", on_refusal="raise")
    ... except ba.Unsupported as error:
    ...     print(error.reason)
    datatype
    """

    def __init__(self, reason: str, detail: str, path: str | None = None) -> None:
        super().__init__(f"{path + ': ' if path else ''}{detail} [{reason}]")
        self.reason, self.detail, self.path = reason, detail, path


class NotFound(ByteatlasError, KeyError):
    """The caller asked for a node, a file or a name that is not there.

    >>> ba.open("jan.nc")["arr"]
    Traceback (most recent call last):
        ...
    byteatlas.errors.NotFound: no array or group 'arr'; did you mean 'air'? known: time, lat, lon, air
    """

    def __init__(self, what: str, known: list[str] | None = None) -> None:
        message = what if known is None else f"{what}; known: {shortlist(known)}"
        super().__init__(message)
        self.what, self.known = what, known

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


def unknown(kind: str, name: str, known: Iterable[str]) -> NotFound:
    """The error for a name that is not among those known, with the one that was probably meant.

    >>> str(unknown("dimension", "tme", ["time", "lat"]))
    "no dimension 'tme'; did you mean 'time'? known: time, lat"
    """
    names = list(known)
    found = NotFound(f"no {kind} {name!r}", names)
    found.args = (unknown_text(kind, name, names),)
    return found


def unknown_text(kind: str, name: str, known: Iterable[str]) -> str:
    """What `unknown` says, for other errors."""
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name, names, 3)
    close.sort(key=lambda other: sorted(other) != sorted(name))  # letters that changed places come first
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"no {kind} {name!r}; {hint}known: {shortlist(names)}"


def shortlist(names: Iterable[str], most: int = 20) -> str:
    """Names in a sentence: the first of them, where there are many.

    >>> shortlist(["a", "b", "c"], most=2), shortlist([])
    ('a, b ... (3 in all)', 'none')
    """
    found = list(names)
    rest = f" ... ({len(found)} in all)" if len(found) > most else ""
    return (", ".join(n or "/" for n in found[:most]) or "none") + rest


class BadRequest(ByteatlasError, ValueError):
    """The caller's arguments make no sense together or for this data.

    >>> ba.FromName("(")
    Traceback (most recent call last):
        ...
    byteatlas.errors.BadRequest: '(' is not a regular expression: missing ), unterminated subpattern at position 0
    """


class BadSelection(BadRequest, IndexError):
    """A selection that does not fit the array: out of bounds, too many axes, an unsupported kind of index.

    >>> ba.open("jan.nc")["air"][5]
    Traceback (most recent call last):
        ...
    byteatlas.errors.BadSelection: index 5 is out of bounds for axis 0 with size 2
    """


class Conflict(ByteatlasError):
    """Files that cannot be combined as asked, or a target that holds something else; one sentence per conflict.

    ``what`` was asked for: ``combine``, ``write``, ``copy``.

    >>> try:
    ...     ba.combine(["jan.nc", "other.nc"], concat="time")
    ... except ba.Conflict as error:
    ...     print(error)
    cannot combine: variable 'air': units differs: "K" (jan.nc) / "m" (other.nc) (other.nc) [units]
    """

    def __init__(self, items: list[str], what: str = "combine") -> None:
        super().__init__(f"cannot {what}: " + "; ".join(items))
        self.items = items


class MissingExtra(ByteatlasError, ImportError):
    """An optional dependency is not installed.

    >>> try:
    ...     page = ba.report("jan.nc")
    ... except ba.MissingExtra as error:
    ...     print(error)  # what to install
    """

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(f"{needed_for} needs an extra: pip install 'byteatlas[{extra}]'")
        self.extra, self.needed_for = extra, needed_for


class FetchFailed(ByteatlasError, OSError):
    """Bytes that should be there could not be fetched (missing file, refused, short read, time-out).

    Attributes:
        transient: the same request may work when it is tried again (time-out, 429, 5xx).
        after: the seconds after which the server wants to be asked again, where it said so.
        absent: the storage itself says that there is no such thing: nothing else means "not there".
        denied: the storage does not give it out, to these credentials at least.
        array, chunk: whose bytes these are (the chunk's place in the grid), where they are those of a chunk.

    >>> try:
    ...     ba.scan("lost.nc")
    ... except ba.FetchFailed as error:
    ...     print(error.absent, error.transient)
    True False
    """

    def __init__(
        self,
        url: str,
        why: str,
        range: ByteRange | None = None,
        *,
        transient: bool = False,
        absent: bool = False,
        denied: bool = False,
        after: float | None = None,
        array: str | None = None,
        chunk: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(_shown(f"{_place(array, chunk, url, range)}: {why}"))
        self.url, self.why, self.range = _shown(url), _shown(why), range
        self.transient, self.absent, self.denied, self.after = transient, absent, denied, after
        self.array, self.chunk = array, chunk

    def located(
        self, *, range: ByteRange | None = None, array: str | None = None, chunk: tuple[int, ...] | None = None
    ) -> FetchFailed:
        """The same error, with what its raiser could not know filled in."""
        found = FetchFailed(
            self.url, self.why, self.range or range, chunk=chunk if self.chunk is None else self.chunk,
            array=array if self.array is None else self.array, transient=self.transient, absent=self.absent,
            denied=self.denied, after=self.after,
        )  # fmt: skip
        found.__cause__ = self.__cause__
        return found


class SourceChanged(ByteatlasError):
    """A file is not the one that was indexed, or a map not the one that was opened (size, time or etag differ).

    >>> refs = {}
    >>> ba.write(ba.scan("changing.nc"), refs)
    >>> from pathlib import Path
    >>> _ = Path("changing.nc").write_bytes(b"another file")
    >>> try:
    ...     ba.open(refs)["air"][0]
    ... except ba.SourceChanged as error:
    ...     print("index the file again")
    index the file again
    """

    def __init__(self, url: str, what: str, recorded: object, found: object, *, when: str = "indexed") -> None:
        advice = "open it again"
        if when == "indexed":
            advice = "index it again, or read it as it is with stamps='size' or 'off'"
        super().__init__(_shown(f"{url}: {what} was {recorded} when {when}, is {found} now; {advice}"))
        self.url, self.what, self.recorded, self.found = url, what, recorded, found


class Absent(FileFault):
    """A file that another file names is not there."""

    def __init__(self, url: str, why: str = "there is no such file") -> None:
        super().__init__(_shown(f"{url}: {why}"))
        self.url, self.why = _shown(url), _shown(why)


class Forbidden(FileFault, PermissionError):
    """The policy in force, or the storage itself, does not allow this access.

    >>> refs = {}
    >>> ba.write(ba.scan("jan.nc"), refs)
    >>> try:
    ...     ba.open(refs, policy=ba.Policy(local=False))["air"][0]
    ... except ba.Forbidden as error:
    ...     print("not allowed")
    not allowed
    """

    def __init__(self, url: str, why: str) -> None:
        super().__init__(_shown(f"{url}: {why}"))
        self.url, self.why = _shown(url), _shown(why)
