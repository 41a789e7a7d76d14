"""Mutants of a module: cosmic-ray's operators, and one that takes guards away."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from parso.python.tree import IfStmt
from tests.mutation.packages import functions, package_of, untouched

from byteatlas.values import dataclass

LEFT_OUT = ("_Is", "_IsNot", "RemoveDecorator", "VariableReplacer", "VariableInserter", "UAdd", "MatMul")
"""`is` for `==` changes nothing for small numbers; decorators are types and caches; the others need names."""


class RemoveGuard(Operator):  # type: ignore[misc]
    """`if ...: raise` that never holds."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        if isinstance(node, IfStmt) and node.children[3].get_code().strip().startswith("raise"):
            yield node.children[1].start_pos, node.children[1].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.parse(" False")
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        return ()


def operators() -> dict[str, Operator]:
    """Every operator that makes mutants here, under its name."""
    provider = OperatorProvider()
    names = [n for n in provider if not any(n.endswith(w) or w in n.split("_") for w in LEFT_OUT)]
    return {**{n: provider[n]() for n in names}, "RemoveGuard": RemoveGuard()}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one place; `before` and `after` are the lines that differ, without what surrounds them."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    text: str

    @property
    def package(self) -> str:
        return package_of(self.file)


Place = tuple[tuple[int, int], str]
"""Where in the text, and the first word of the operators' name: `+` has eleven replacements and counts once."""


def places(text: str, known: dict[str, Operator]) -> dict[Place, list[tuple[str, int]]]:
    """Where a text can be changed, and by what: names of operators and the number of the occurrence."""
    tree = ast.parse(text)
    free = untouched(tree)
    inside = {line for _, f in functions(tree) for line in range(f.body[0].lineno, (f.end_lineno or f.lineno) + 1)}
    found: dict[Place, list[tuple[str, int]]] = {}
    count = dict.fromkeys(known, 0)
    nodes = [parso.parse(text)]
    while nodes:
        node = nodes.pop()
        nodes += reversed(getattr(node, "children", ()))
        for name, operator in known.items():
            for begin, _ in operator.mutation_positions(node):
                if begin[0] in inside and not any(a <= begin < b for a, b in free):
                    found.setdefault((begin, name.partition("_")[0]), []).append((name, count[name]))
                count[name] += 1
    return found


def draw(root: Path, files: list[str], how_many: int, seed: int) -> Iterator[Mutant]:
    """Mutants drawn at random: a file by its places, a place in it, one of the changes there; none twice."""
    chance = random.Random(seed)
    known = operators()
    texts = {f: (root / f).read_text(encoding="utf-8") for f in files}
    kept: dict[str, dict[Place, list[tuple[str, int]]]] = {}
    seen: set[tuple[str, Place]] = set()
    weights = [len(texts[f]) for f in files]
    for _ in range(20 * how_many):
        if len(seen) >= how_many:
            return
        file = chance.choices(files, weights)[0]
        if file not in kept:
            kept[file] = places(texts[file], known)
        if not kept[file] or (file, place := chance.choice(list(kept[file]))) in seen:
            continue
        name, occurrence = chance.choice(kept[file][place])
        try:
            made = mutate_code(texts[file], known[name], occurrence)
        except AttributeError:  # its ExceptionReplacer takes plain names only, not `errors.NotFound`
            continue
        if made is None or made == texts[file]:
            continue
        seen.add((file, place))
        yield _mutant(file, place, name, texts[file], made)


def _mutant(file: str, place: Place, name: str, text: str, made: str) -> Mutant:
    """What differs, as the one line before and after it."""
    old, new = text.splitlines(), made.splitlines()
    first = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old) - 1)
    return Mutant(file, place[0][0], name, old[first].strip(), new[first].strip() if first < len(new) else "", made)
