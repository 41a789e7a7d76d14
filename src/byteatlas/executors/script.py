"""Scripts that new processes would run again from their first line."""

from __future__ import annotations

import ast
import sys
import tokenize

ADVICE = "put what it does under `if __name__ == '__main__':`, or use executor='threads'"


def unguarded_script() -> str | None:
    """The script that runs now, when it has no guard: every new process imports it, and would do its work again.

    None for what runs otherwise: interactively, as ``python -m``, as an installed command.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if not isinstance(path, str) or getattr(main, "__spec__", None) is not None:
        return None
    try:
        with tokenize.open(path) as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return None
    return None if any(map(_is_guard, tree.body)) else path


def _is_guard(part: ast.stmt) -> bool:
    tested = ast.walk(part.test) if isinstance(part, ast.If) else ()
    return any(isinstance(name, ast.Name) and name.id == "__name__" for name in tested)
