"""Templates and generated references of kerchunk's JSON maps, by a small evaluator of our own.

The specification borrows Jinja2's ``{{ }}``. What maps use of it is names, whole numbers, arithmetic, text, and calls
of templates as functions (``{{f(c='text')}}``); that is all there is here. Work and output are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

MOST_TEXT = 1 << 16
MOST_DEPTH = 16
_LARGE = 1 << 64
_TOKEN = (
    r"\s*(?:(?P<int>\d{1,19})(?!\d)|(?P<name>[A-Za-z_]\w{0,99})"
    r"|(?P<text>'[^']*'|\"[^\"]*\")|(?P<op>\*\*|//|[-+*/%()=,~|]))"
)
MOST_CALLS, CALLS_A_TEXT = 100_000, 64
"""Templates that may be evaluated for a whole map: so many, and so many more for each text that is filled."""
_FORMAT = r"[^%]*%(0?\d{0,2})([ds])[^%]*"


class Slow(Exception):
    """A whole column cannot be evaluated at once here; evaluate value by value."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A variable's values in many places at once, and a bound of their magnitude."""

    values: NDArray[np.int64]
    most: int

    def __str__(self) -> str:
        raise Slow


TemplateValue: TypeAlias = int | float | str | Column
Scope: TypeAlias = Mapping[str, TemplateValue]


class _Fault(Exception):
    """What is wrong with an expression."""


class _Budget:
    """Evaluations of templates that are left. A template that names six others costs six times as much as one."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST_CALLS


class Hole(NamedTuple):
    """A ``{{ }}`` in a text, and what is between the braces."""

    start: int
    end: int
    inside: str


def holes(text: str) -> Iterator[Hole]:
    """All ``{{ }}`` of a text, in one pass over it."""
    at = text.find("{{")
    while at >= 0:
        end = text.find("}}", at + 2)
        if end < 0:
            return
        yield Hole(at, end + 2, text[at + 2 : end])
        at = text.find("{{", end + 2)


def uncontrolled(text: str) -> str:
    """The text without Jinja2's white space control: ``{{-`` and ``-}}`` take away the white space beside them.

    A minus sign right behind the braces is therefore none.

    >>> uncontrolled("a {{-1}} b"), uncontrolled("a {{ 1 -}} b")
    ('a{{ 1}} b', 'a {{ 1  }}b')
    """
    if "{{-" in text or "{{+" in text or "-}}" in text:
        before = text.replace("{{+", "{{ ").split("{{-")
        text = "{{ ".join([*(part.rstrip() for part in before[:-1]), before[-1]])
        behind = text.split("-}}")
        text = " }}".join([behind[0], *(part.lstrip() for part in behind[1:])])
    return text


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of a map by name."""

    texts: Mapping[str, str] = field(default_factory=dict)
    budget: _Budget = field(default_factory=_Budget, compare=False, repr=False)

    @staticmethod
    def parse(value: JSON, where: str) -> Templates:
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise InvalidMetadata(where, "templates must be an object of texts")
        if any(len(v) > MOST_TEXT for v in value.values()):
            raise InvalidMetadata(where, f"a template is longer than {MOST_TEXT} characters")
        return Templates(dict(value))

    def fill(self, text: str, where: str, scope: Scope | None = None) -> str:
        """The text with its ``{{ }}`` evaluated."""
        if "{{" not in text:
            return text
        self.budget.left += CALLS_A_TEXT
        try:
            return self._fill(text, scope or {}, 0)
        except _Fault as fault:
            raise InvalidMetadata(where, f"template {text[:120]!r}: {fault}") from fault

    def _fill(self, text: str, scope: Scope, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise _Fault("templates call each other without end")
        self.budget.left -= 1
        if self.budget.left < 0:
            raise _Fault("templates that call each other too often")
        text = uncontrolled(text)
        out: list[str] = []
        at = length = 0
        for hole in holes(text):
            out += [text[at : hole.start], str(_Parser(hole.inside, self, scope, depth).whole())]
            length += len(out[-1]) + len(out[-2])
            if length > MOST_TEXT:
                raise _Fault(f"more than {MOST_TEXT} characters")
            at = hole.end
        rest = text[at:]
        if "{{" in rest:
            raise _Fault("'{{' without '}}'")
        return "".join(out) + rest

    def evaluate(self, text: str, where: str, scope: Scope) -> TemplateValue:
        """The value of a text that is one ``{{ }}`` and nothing else, or a text without any."""
        whole = uncontrolled(text).strip()
        inside = whole[2:-2] if whole[:2] == "{{" and whole[2:][-2:] == "}}" else "{{"
        self.budget.left += CALLS_A_TEXT
        try:
            return text if "{{" in inside else _Parser(inside, self, scope, 0).whole()
        except _Fault as fault:
            raise InvalidMetadata(where, f"template {text[:120]!r}: {fault}") from fault

    def name(self, name: str, scope: Scope, depth: int) -> TemplateValue:
        """The value of a name: a variable, or a template."""
        if name in scope:
            return scope[name]
        if name in self.texts:
            return self._fill(self.texts[name], {}, depth + 1)
        raise _Fault(f"unknown name {name!r}")

    def call(self, name: str, arguments: Scope, depth: int) -> str:
        """A template as a function of its keyword arguments."""
        if name not in self.texts:
            raise _Fault(f"unknown template {name!r}")
        return self._fill(self.texts[name], arguments, depth + 1)


class _Parser:
    """Precedence climbing over one expression, evaluated as it is read. The order of operators is Jinja2's."""

    def __init__(self, text: str, templates: Templates, scope: Scope, depth: int) -> None:
        if len(text) > 1000:
            raise _Fault("an expression of more than 1000 characters")
        self._tokens = _tokens(text)
        self._at = 0
        self._templates, self._scope, self._depth = templates, scope, depth
        self._nested = 0

    def whole(self) -> TemplateValue:
        value = self._sum()
        if self._at < len(self._tokens):
            raise _Fault(f"unexpected {self._tokens[self._at][1]!r}")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) and self._kind() == "op" else ""

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "end"

    def _sum(self) -> TemplateValue:
        value = self._joined()
        while (op := self._peek()) in ("+", "-"):
            self._at += 1
            value = _apply(op, value, self._joined())
        return value

    def _joined(self) -> TemplateValue:
        value = self._product()
        while self._peek() == "~":
            self._at += 1
            value = _apply("~", value, self._product())
        return value

    def _product(self) -> TemplateValue:
        value = self._power()
        while (op := self._peek()) in ("*", "/", "//", "%"):
            self._at += 1
            value = _apply(op, value, self._power())
        return value

    def _power(self) -> TemplateValue:
        """Powers from left to right, of numbers with their signs: unlike Python's."""
        value = self._unary()
        while self._peek() == "**":
            self._at += 1
            value = _apply("**", value, self._unary())
        return value

    def _unary(self) -> TemplateValue:
        if (sign := self._peek()) not in ("-", "+"):
            return self._atom()
        self._at += 1
        self._deeper()
        value = _apply(sign, 0, self._unary())
        self._nested -= 1
        return value

    def _deeper(self) -> None:
        self._nested += 1
        if self._nested > 50:
            raise _Fault("nested too deeply")

    def _atom(self) -> TemplateValue:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("end", "the end")
        self._at += 1
        match kind:
            case "int":
                return int(text)
            case "text":
                return text[1:-1]
            case "name":
                return self._named(text)
            case "op" if text == "(":
                self._deeper()
                value = self._sum()
                self._nested -= 1
                self._expect(")")
                return value
            case _:
                raise _Fault(f"unexpected {text!r}")

    def _named(self, name: str) -> TemplateValue:
        if self._peek() != "(":
            return self._templates.name(name, self._scope, self._depth)
        self._at += 1
        arguments: dict[str, TemplateValue] = {}
        while self._peek() != ")":
            if self._kind() != "name":
                raise _Fault("arguments are written name=value")
            key = self._tokens[self._at][1]
            self._at += 1
            self._expect("=")
            self._deeper()
            arguments[key] = self._sum()
            self._nested -= 1
            if self._peek() == ",":
                self._at += 1
            elif self._peek() != ")":
                raise _Fault("',' or ')' was expected")
        self._at += 1
        return self._templates.call(name, arguments, self._depth)

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise _Fault(f"{mark!r} was expected")
        self._at += 1


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, end, pattern = 0, len(text.rstrip()), re.compile(_TOKEN)
    while at < end:
        token = pattern.match(text, at)
        if token is None or token.lastgroup is None:
            raise _Fault(f"cannot read {text[at : at + 20]!r}")
        found.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return found


def _apply(op: str, left: TemplateValue, right: TemplateValue) -> TemplateValue:
    if isinstance(left, Column) or isinstance(right, Column):
        return _columns(op, left, right)
    if op == "~" or (op == "+" and isinstance(left, str) and isinstance(right, str)):
        joined = f"{left}{right}"
        if len(joined) > MOST_TEXT:
            raise _Fault(f"more than {MOST_TEXT} characters")
        return joined
    if op == "%" and isinstance(left, str):
        return _format(left, right)
    if isinstance(left, str) or isinstance(right, str):
        raise _Fault(f"{op!r} needs numbers")
    try:
        value: int | float = _ARITHMETIC[op](left, right)
    except (ZeroDivisionError, OverflowError) as error:
        raise _Fault(str(error)) from error
    if not abs(value) < _LARGE:
        raise _Fault("a number beyond 64 bits")
    return value


def _columns(op: str, left: TemplateValue, right: TemplateValue) -> TemplateValue:
    """Arithmetic on whole columns, where it cannot leave 64 bits."""
    if op not in _BOUNDS or isinstance(left, (str, float)) or isinstance(right, (str, float)):
        raise Slow
    a, x = (left.values, left.most) if isinstance(left, Column) else (left, abs(left))
    b, y = (right.values, right.most) if isinstance(right, Column) else (right, abs(right))
    most = _BOUNDS[op](x, y)
    if most >= 1 << 62 or x >= 1 << 62 or y >= 1 << 62:
        raise Slow
    if op in ("//", "%") and not np.all(b):
        raise _Fault("division by zero")
    return Column(np.asarray(_ARITHMETIC[op](a, b), np.int64), most)


_BOUNDS: Mapping[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a + 1,
    "%": lambda a, b: b,
}


def _format(form: str, value: TemplateValue) -> str:
    """Python's ``%`` with one ``%d`` (perhaps ``%03d``) or ``%s``."""
    spec = re.fullmatch(_FORMAT, form)
    if spec is None or (spec[2] == "d") != isinstance(value, int):
        raise _Fault(f"format {form!r}")
    return form % value


def _power(left: Any, right: Any) -> Any:
    if not 0 <= right <= 64 or abs(left) >= _LARGE:
        raise OverflowError("a power beyond 64 bits")
    return left**right


_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": _power,
}
