"""One name for one thing, and one definition: no two public types share a name, no two functions a body."""

from __future__ import annotations

import ast
import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TypeAlias

from tests.places import ROOT

MODULES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("scanners/**/*.py")])


def types_of(tree: ast.Module) -> Iterator[str]:
    """The classes and type aliases of a module that have a public name."""
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_type(value):
                yield name


def is_type(value: ast.expr) -> bool:
    """Whether an expression is a type in brackets, a union, or a new type: ``Callable[[int], None]``."""
    match value:
        case ast.Subscript(value=ast.Name(id=name)):
            return name[:1].isupper() or name in ("tuple", "list", "dict", "frozenset", "set", "type")
        case ast.BinOp(left=left, op=ast.BitOr()):
            return isinstance(left, ast.Name) or is_type(left)
        case ast.Call(func=ast.Name(id="NewType")):
            return True
    return False


@cache
def trees() -> Mapping[str, ast.Module]:
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def test_no_two_types_share_a_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module, tree in trees().items():
        for name in set(types_of(tree)):
            if not name.startswith("_") and name[0].isupper() and not name.isupper():
                places[name].append(module)
    twice = {name: modules for name, modules in places.items() if len(modules) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(modules)}" for name, modules in sorted(twice.items()))


class Renamed(ast.NodeTransformer):
    """A body with other names for its arguments and variables, and without annotations."""

    def __init__(self, names: list[str]) -> None:
        self.names = {name: f"v{i}" for i, name in enumerate(names)}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.names.get(node.arg, node.arg))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return self.generic_visit(ast.Assign([node.target], node.value))


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def without_docstring(function: Function) -> list[ast.stmt]:
    body = function.body
    return body[1:] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else body


def outline(function: Function) -> tuple[str, ...]:
    """The kinds of a function's statements in order: those of one body have one outline."""
    nodes = [node for statement in without_docstring(function) for node in ast.walk(statement)]
    return tuple(type(node).__name__.replace("Ann", "") for node in nodes if isinstance(node, ast.stmt))


def normal_body(function: Function) -> str | None:
    """What a function does, whatever its variables are called; None for fewer than three statements."""
    body = without_docstring(function)
    nodes = [node for statement in body for node in ast.walk(statement)]
    if sum(isinstance(node, ast.stmt) for node in nodes) < 3:
        return None
    arguments = [node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    own = [node.arg for node in nodes if isinstance(node, ast.arg)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    renamed = Renamed(list(dict.fromkeys([*arguments, *own, *stored])))
    return ast.dump(ast.Module([renamed.visit(copy.deepcopy(statement)) for statement in body], []))


def test_no_two_functions_have_the_same_body() -> None:
    alike: dict[tuple[str, ...], list[tuple[str, Function]]] = defaultdict(list)
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                alike[outline(node)].append((f"{module}:{node.name}", node))
    places: dict[str, list[str]] = defaultdict(list)
    for place, node in [found for group in alike.values() if len(group) > 1 for found in group]:
        body = normal_body(node)
        if body is not None:
            places[body].append(place)
    same = {frozenset(functions) for functions in places.values() if len(functions) > 1}
    assert not same, "\n".join(" = ".join(sorted(group)) for group in same)


def test_the_comparison_sees_through_names() -> None:
    source = "def f(a):\n  '''Doc.'''\n  b: int = a\n  c = b\n  return c\n\ndef g(x):\n  y = x\n  z = y\n  return z\n"
    first, second = ast.parse(source).body
    assert isinstance(first, ast.FunctionDef)
    assert isinstance(second, ast.FunctionDef)
    assert normal_body(first) == normal_body(second) is not None
    assert outline(first) == outline(second)
