"""The code in packages, and what is a statement of it that a mutant may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOTS = ("src/byteatlas", "scanners/byteatlas_scanners")


def package_of(file: str) -> str:
    """The package that a file counts for: a folder below one of the roots, or all modules that lie beside them.

    >>> package_of("src/byteatlas/io/sources/http.py")
    'byteatlas.io'
    >>> package_of("src/byteatlas/values.py")
    'byteatlas'
    >>> package_of("scanners/byteatlas_scanners/tiff/page.py")
    'byteatlas_scanners.tiff'
    """
    parts = Path(file).parts[1:]
    return ".".join(parts[:2] if len(parts) > 2 else parts[:1])


def modules(root: Path) -> list[str]:
    """Every module of the library and the scanners, as a path below `root`."""
    found = (path for folder in ROOTS for path in (root / folder).rglob("*.py"))
    return sorted(path.relative_to(root).as_posix() for path in found)


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its name in its module, `Class.method` or `outer.inner`."""

    def inside(node: ast.AST, before: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            name = before
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{before}.{child.name}" if before else child.name
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield name, child
            yield from inside(child, name)

    yield from inside(tree, "")


def raises(text: str) -> list[tuple[str, ast.Raise]]:
    """Every `raise` of a module's text, with the name of the innermost function that holds it."""
    tree = ast.parse(text)
    holder = {id(n): name for name, f in functions(tree) for n in ast.walk(f) if isinstance(n, ast.Raise)}
    return [(holder.get(id(n), ""), n) for n in ast.walk(tree) if isinstance(n, ast.Raise)]


Span = tuple[tuple[int, int], tuple[int, int]]
"""From a place (line from 1, column from 0) to the one behind the last character."""


def untouched(tree: ast.Module) -> list[Span]:
    """Where a change changes no behaviour: types, decorators, what only type checkers see, and `zip(strict=True)`,
    which says that lengths are equal.
    """
    spans: list[ast.expr | ast.stmt] = []
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign():
                spans.append(node.annotation)
            case ast.arg(annotation=ast.expr() as annotation):
                spans.append(annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                spans += [*node.decorator_list, *([node.returns] if node.returns else [])]
            case ast.ClassDef():
                spans += node.decorator_list
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                spans.append(node)
            case ast.keyword(arg="strict"):
                spans.append(node.value)
    return [((n.lineno, n.col_offset), (n.end_lineno or n.lineno, n.end_col_offset or 0)) for n in spans]
