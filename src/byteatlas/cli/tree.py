"""Trees for people: rich draws them on a terminal; elsewhere they are plain lines, and rich is not imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from byteatlas.values import dataclass, field

if TYPE_CHECKING:
    from rich.tree import Tree

Line: TypeAlias = tuple[tuple[str, str], ...]
"""Pieces of text, each with its style in rich's words ("bold", "dim", ...; "" for none)."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A label of one line or more, and what is below it."""

    label: tuple[Line, ...]
    below: list[Branch] = field(default_factory=list)

    def add(self, *label: Line) -> Branch:
        """A new branch below this one."""
        self.below.append(Branch(label))
        return self.below[-1]


def show(root: Branch) -> None:
    """Print a tree on standard output."""
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{line}\n" for line in plain(root, _guides())))
        return
    from byteatlas.cli.common import console

    console().print(_rich(root))


Guides: TypeAlias = tuple[str, str, str]
"""Before a branch that others follow, before the last one, and beside what is below the former."""

LINES: Guides = ("├── ", "└── ", "│   ")
ASCII: Guides = ("+-- ", "`-- ", "|   ")


def _guides() -> Guides:
    return LINES if (sys.stdout.encoding or "").lower().startswith("utf") else ASCII


def plain(root: Branch, guides: Guides = LINES) -> Iterator[str]:
    """The lines of a tree, without styles.

    >>> root = Branch(((("a", ""),),))
    >>> _ = root.add((("b", "bold"),), (("second line", ""),)).add((("c", ""),))
    >>> print("\\n".join(plain(root, ASCII)))
    a
    `-- b
        second line
        `-- c
    """
    yield from _texts(root)
    stack = [(iter(_marked(root.below)), "")]
    while stack:
        branches, indent = stack[-1]
        for branch, last in branches:
            first, *others = _texts(branch)
            under = indent + ("    " if last else guides[2])
            yield indent + guides[1 if last else 0] + first
            yield from (under + text for text in others)
            stack.append((iter(_marked(branch.below)), under))
            break
        else:
            stack.pop()


def _marked(branches: list[Branch]) -> list[tuple[Branch, bool]]:
    return [(branch, i == len(branches) - 1) for i, branch in enumerate(branches)]


def _texts(branch: Branch) -> list[str]:
    return ["".join(text for text, _ in line) for line in branch.label]


def _rich(root: Branch) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    def label(branch: Branch) -> Text:
        return Text("\n").join([Text.assemble(*line) for line in branch.label])

    drawn = Tree(label(root), guide_style="dim")
    stack = [(root, drawn)]
    while stack:
        branch, place = stack.pop()
        stack += [(child, place.add(label(child))) for child in branch.below]
    return drawn
