"""Templates and generated references of kerchunk's JSON maps, by a small evaluator of our own.

The specification borrows Jinja2's ``{{ }}``. What maps use of it is names, whole numbers, arithmetic, text, and calls
of templates as functions (``{{f(c='text')}}``); that is all there is here. Work and output are bounded.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from byteatlas.errors import InvalidMetadata
from byteatlas.types import JSON

Value: TypeAlias = int | float | str
Scope: TypeAlias = Mapping[str, Value]

MOST_TEXT = 1 << 16
MOST_DEPTH = 16
_LARGE = 1 << 64
_TOKEN = re.compile(
    r"\s*(?:(?P<int>\d{1,19})(?!\d)|(?P<name>[A-Za-z_]\w{0,99})|(?P<text>'[^']*'|\"[^\"]*\")|(?P<op>\*\*|//|[-+*/%()=,~|]))"
)
_HOLE = re.compile(r"\{\{(.*?)\}\}", re.S)
_FORMAT = re.compile(r"[^%]*%(0?\d{0,2})([ds])[^%]*")


class _Fault(Exception):
    """What is wrong with an expression."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of a map by name."""

    texts: Mapping[str, str] = field(default_factory=dict)

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
        try:
            return self._fill(text, scope or {}, 0)
        except _Fault as fault:
            raise InvalidMetadata(where, f"template {text[:120]!r}: {fault}") from fault

    def _fill(self, text: str, scope: Scope, depth: int) -> str:
        if depth > MOST_DEPTH:
            raise _Fault("templates call each other without end")
        out: list[str] = []
        at = length = 0
        for hole in _HOLE.finditer(text):
            out += [text[at : hole.start()], str(_Parser(hole[1], self, scope, depth).whole())]
            length += len(out[-1]) + len(out[-2])
            if length > MOST_TEXT:
                raise _Fault(f"more than {MOST_TEXT} characters")
            at = hole.end()
        rest = text[at:]
        if "{{" in rest:
            raise _Fault("'{{' without '}}'")
        return "".join(out) + rest

    def name(self, name: str, scope: Scope, depth: int) -> Value:
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
    """Precedence climbing over one expression, evaluated as it is read."""

    def __init__(self, text: str, templates: Templates, scope: Scope, depth: int) -> None:
        if len(text) > 1000:
            raise _Fault("an expression of more than 1000 characters")
        self._tokens = _tokens(text)
        self._at = 0
        self._templates, self._scope, self._depth = templates, scope, depth
        self._nested = 0

    def whole(self) -> Value:
        value = self._sum()
        if self._at < len(self._tokens):
            raise _Fault(f"unexpected {self._tokens[self._at][1]!r}")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) and self._kind() == "op" else ""

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "end"

    def _sum(self) -> Value:
        value = self._product()
        while (op := self._peek()) in ("+", "-", "~") and op:
            self._at += 1
            value = _apply(op, value, self._product())
        return value

    def _product(self) -> Value:
        value = self._unary()
        while (op := self._peek()) in ("*", "/", "//", "%") and op:
            self._at += 1
            value = _apply(op, value, self._unary())
        return value

    def _unary(self) -> Value:
        if self._peek() in ("-", "+") and self._peek():
            sign = self._tokens[self._at][1]
            self._at += 1
            self._deeper()
            value = _apply("-" if sign == "-" else "+", 0, self._unary())
            self._nested -= 1
            return value
        base = self._atom()
        if self._peek() == "**":
            self._at += 1
            self._deeper()
            base = _apply("**", base, self._unary())
            self._nested -= 1
        return base

    def _deeper(self) -> None:
        self._nested += 1
        if self._nested > 50:
            raise _Fault("nested too deeply")

    def _atom(self) -> Value:
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

    def _named(self, name: str) -> Value:
        if self._peek() != "(":
            return self._templates.name(name, self._scope, self._depth)
        self._at += 1
        arguments: dict[str, Value] = {}
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
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if token is None or token.lastgroup is None:
            raise _Fault(f"cannot read {text[at : at + 20]!r}")
        found.append((token.lastgroup, token[token.lastgroup]))
        at = token.end()
    return found


def _apply(op: str, left: Value, right: Value) -> Value:
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


def _format(form: str, value: Value) -> str:
    """Python's ``%`` with one ``%d`` (perhaps ``%03d``) or ``%s``."""
    spec = _FORMAT.fullmatch(form)
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


def expand_gen(gen: JSON, templates: Templates, where: str, most: int) -> Iterator[tuple[str, JSON]]:
    """The references that ``gen`` stands for, as key and ``[url]`` or ``[url, offset, length]``."""
    if not isinstance(gen, list):
        raise InvalidMetadata(where, "gen must be a list")
    spans = [_spans(entry, f"{where}: gen") for entry in gen]
    total = 0
    for ranges in spans:
        count = 1
        for values in ranges.values():
            count *= len(values)
        total += count
    if total > most:
        raise InvalidMetadata(where, f"gen makes {total} references, more than the limit of {most}")
    for entry, ranges in zip(gen, spans, strict=True):
        yield from _generate(entry, ranges, templates, f"{where}: gen")


def _spans(entry: JSON, where: str) -> dict[str, range | list[int]]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("dimensions"), Mapping):
        raise InvalidMetadata(where, "an entry needs key, url and dimensions")
    if not isinstance(entry.get("key"), str) or not isinstance(entry.get("url"), str):
        raise InvalidMetadata(where, "an entry needs key, url and dimensions")
    if ("offset" in entry) != ("length" in entry):
        raise InvalidMetadata(where, "offset and length go together")
    return {name: _span(value, where) for name, value in entry["dimensions"].items()}


def _whole(value: JSON) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _span(value: JSON, where: str) -> range | list[int]:
    if isinstance(value, list) and all(_whole(v) for v in value):
        return value
    if isinstance(value, Mapping) and _whole(value.get("stop")):
        start, stop, step = value.get("start", 0), value["stop"], value.get("step", 1)
        if _whole(start) and _whole(step) and step != 0:
            return range(start, stop, step)
    raise InvalidMetadata(where, f"not a dimension: {str(value)[:80]}")


def _generate(
    entry: JSON, ranges: Mapping[str, range | list[int]], templates: Templates, where: str
) -> Iterator[tuple[str, JSON]]:
    names = list(ranges)
    for values in itertools.product(*ranges.values()):
        scope = dict(zip(names, values, strict=True))
        key, url = templates.fill(entry["key"], where, scope), templates.fill(entry["url"], where, scope)
        if "offset" not in entry:
            yield key, [url]
            continue
        yield key, [url, *(_number(entry[n], templates, where, scope) for n in ("offset", "length"))]


def _number(value: JSON, templates: Templates, where: str, scope: Scope) -> int:
    if _whole(value):
        return int(value)
    text = templates.fill(value, where, scope) if isinstance(value, str) else ""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        if number == int(number) and abs(number) < 1 << 53:
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise InvalidMetadata(where, f"not a whole number: {str(value)[:80]!r}")
