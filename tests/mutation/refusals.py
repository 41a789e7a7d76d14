"""The list of `raise` statements that never run, as docs/status/tests.md has it, and those of the code."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mutation.packages import raises

from byteatlas.values import dataclass

UNREACHED = re.compile(r"^\| `(\S+)` \| `([\w.]*)` \| `` (.+?) `` \| (.+) \|$", re.M)


@dataclass(frozen=True, slots=True)
class Unreached:
    """A `raise` that no test runs: its file, the function that holds it, its text in one line."""

    file: str
    function: str
    text: str


def one_line(text: str) -> str:
    """A statement without line breaks, as a table shows it.

    >>> one_line('raise Bad(\\n    "a"\\n)')
    'raise Bad( "a" )'
    """
    return " ".join(text.split()).replace("|", "¦")


def statements(root: Path, file: str) -> list[tuple[int, Unreached]]:
    """The line and name of every `raise` in a file."""
    text = (root / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    return [
        (n.lineno, Unreached(file, name, one_line("\n".join(lines[n.lineno - 1 : n.end_lineno]))))
        for name, n in raises(text)
    ]


def unreached(text: str) -> dict[Unreached, str]:
    """What the page lists, with the reasons."""
    return {Unreached(*m.groups()[:3]): m.group(4) for m in UNREACHED.finditer(text)}
