"""The blocks of code on a page of the documentation.

Python blocks of a page share one namespace, shell blocks one folder, from the top of the page to its end. A block that
cannot run by itself (it needs a cluster, a network, a browser, or is a part of a program) says so in a comment above
it: ``<!-- not run: why -->``. Files that a reader would bring are made first, by the program that the page names:
``<!-- given: NAME -->`` (a function in ``given.py``). ``<!-- needs: MODULE, python 3.12 -->`` says what the page
cannot do without.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^(?:<!-- ([^\n]*) -->\n)?```(\w+)[^\n]*\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
GIVEN = re.compile(r"^<!-- given: (\w+) -->$", re.MULTILINE)
NEEDS = re.compile(r"^<!-- needs: ([\w,. ]+) -->$", re.MULTILINE)
SHELLS, SHOWN = ("sh", "console"), ("text", "toml", "js", "json")


@dataclass(frozen=True)
class Block:
    """One block: where it stands, its language, its text, and the comment above it."""

    place: str
    language: str
    text: str
    comment: str
    start: int
    end: int

    @property
    def runs(self) -> bool:
        """Is it run, and not only shown?"""
        return self.language not in SHOWN and not self.comment.startswith(("not run: ", "command: test"))


@dataclass(frozen=True)
class Page:
    """A page, its text and its blocks."""

    path: Path
    text: str
    blocks: tuple[Block, ...]

    @property
    def given(self) -> tuple[str, ...]:
        """The programs that make the files that a reader would have."""
        return tuple(GIVEN.findall(self.text))

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules without which the page cannot run."""
        return tuple(name for name in self._needs() if not name.startswith("python "))

    @property
    def python(self) -> tuple[int, ...]:
        """The least version of Python for the page."""
        versions = [tuple(map(int, name[7:].split("."))) for name in self._needs() if name.startswith("python ")]
        return max(versions, default=(3, 11))

    def _needs(self) -> list[str]:
        return [name.strip() for names in NEEDS.findall(self.text) for name in names.split(",")]

    def running(self) -> list[Block]:
        """The blocks that run, in their order."""
        return [block for block in self.blocks if block.runs]


def read_page(path: Path) -> Page:
    """The page in a file. Raises `ValueError` for a block in a language that nobody could run or show."""
    text = path.read_text(encoding="utf-8")
    blocks = []
    for match in FENCED.finditer(text):
        comment, language, body = match.groups()
        if language not in ("python", *SHELLS, *SHOWN):
            raise ValueError(f"{path}: a block of {language}")
        if language == "console":
            body = "".join(f"{line[2:]}\n" for line in body.splitlines() if line.startswith("$ "))
        place = f"{path.name}:{text[: match.start(2)].count(chr(10)) + 1}"
        blocks.append(Block(place, language, body, comment or "", match.start(), match.end()))
    return Page(path, text, tuple(blocks))


def pages() -> list[Path]:
    """All pages whose code runs: the README, the tutorial, the how-tos, the recipes."""
    docs = ROOT / "docs"
    found = [ROOT / "README.md", docs / "tutorial.md", *docs.glob("how-to/*.md"), *docs.glob("recipes/*.md")]
    return sorted(path for path in found if path.name != "index.md")


def without_installing(text: str) -> str:
    """A shell block without its lines of ``pip install``: where everything is installed."""
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("pip install"))
