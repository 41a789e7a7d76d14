"""Value classes: what the standard library's dataclasses do, ours do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from byteatlas import values

T = TypeVar("T")


@values.dataclass(frozen=True, slots=True)
class Point:
    """A frozen one."""

    x: int
    y: int = 2
    tags: list[str] = values.field(default_factory=list, compare=False)
    note: str = values.field(default="", repr=False)
    total: int = values.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """The same, made by the standard library."""

    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)
    note: str = dataclasses.field(default="", repr=False)
    total: int = dataclasses.field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", self.x + self.y)


@values.dataclass(slots=True)
class Box(Generic[T]):
    """Not frozen, generic."""

    content: T
    count: int = 0


@values.dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """Compared by identity."""

    content: Any


@values.dataclass(frozen=True, slots=True)
class Point3(Point):
    """One that inherits fields; a field is declared again with another default."""

    y: int = 5
    z: int = 7


@values.dataclass(frozen=True, slots=True)
class Empty:
    """No fields."""


@pytest.mark.parametrize("calls", range(values.FIRST_CALLS + 2))
def test_construction_before_and_after_it_is_compiled(calls: int) -> None:
    @values.dataclass(frozen=True, slots=True)
    class New(Point):
        more: int = 4

    for _ in range(calls):
        New(0)
    p = New(1, note="n")
    assert (p.x, p.y, p.tags, p.note, p.total, p.more) == (1, 2, [], "n", 3, 4)
    assert New(2, 3, ["a"], "b", 5) == New(x=2, y=3, tags=[], note="b", more=5)
    make: Any = New
    for arguments, named in (((), {}), ((1,), {"x": 1}), ((1,), {"z": 1}), ((1, 2, [], "", 4, 5), {})):
        with pytest.raises(TypeError, match="__init__"):
            make(*arguments, **named)


def test_construction() -> None:
    p = Point(1)
    assert (p.x, p.y, p.tags, p.note, p.total) == (1, 2, [], "", 3)
    assert Point(1).tags is not p.tags
    assert Point(1, y=5, note="n").total == 6
    assert Point3(1).total == 6
    assert Point3(1, 2, [], "", 3).z == 3
    assert not hasattr(p, "__dict__")
    assert vars(Point3)["__slots__"] == ("z",)


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, [], "", 4, 5), {}), ((1,), {"z": 1}), ((1,), {"x": 1})])
def test_wrong_arguments(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    messages = []
    for cls in (Point, Standard):
        with pytest.raises(TypeError) as caught:
            cls(*arguments[0], **arguments[1])
        messages.append(str(caught.value).replace(cls.__name__, "C"))
    assert messages[0] == messages[1]


def test_printing() -> None:
    assert repr(Point(1)) == repr(Standard(1)).replace("Standard", "Point")
    box: Box[Any] = Box(None)
    box.content = box
    assert repr(box) == "Box(content=..., count=0)"


def test_comparing_and_hashing() -> None:
    assert Point(1, tags=["a"]) == Point(1)
    assert hash(Point(1, tags=["a"])) == hash(Point(1))
    assert Point(1) != Point(2)
    assert Point(1) != Point3(1, 2)
    assert Point(1).__eq__((1, 2, "")) is NotImplemented
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Box(1) == Box(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Box(1))
    one = Identity([1])
    assert one == one
    assert one != Identity([1])
    assert hash(one)


def test_one_field_alone_is_compared_as_the_standard_library_does() -> None:
    nan = float("nan")

    @values.dataclass(frozen=True, slots=True)
    class One:
        value: Any

    assert One(nan) == One(nan)  # tuples look for the same object first
    assert One((1,)) != One(1)


def test_frozen() -> None:
    p = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        p.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del p.x
    box = Box(1)
    box.count = 3
    assert box == Box(1, 3)


@pytest.mark.parametrize("replace", [values.replace, dataclasses.replace])
def test_replace(replace: Callable[..., Any]) -> None:
    assert replace(Point(1, note="n"), y=3) == Point(1, 3, note="n")
    assert replace(Point3(1), z=1) == Point3(1, z=1)
    for changes, error in (
        ({"total": 1}, (ValueError, TypeError)),
        ({"nothing": 1}, TypeError),
    ):  # Python 3.13: always TypeError
        with pytest.raises(error, match=next(iter(changes))):
            replace(Point(1), **changes)


def test_replace_takes_values_of_the_standard_library() -> None:
    assert values.replace(Standard(1), y=4) == Standard(1, 4)


@pytest.mark.parametrize("value", [Point(1, tags=["a"]), Point3(1), Box([1]), Empty()], ids=repr)
def test_copies(value: Any) -> None:
    for copied in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert copied == value
        assert type(copied) is type(value)
        assert repr(copied) == repr(value)


def test_match() -> None:
    match Point(1, 4):
        case Point(x, y):
            assert (x, y) == (1, 4)
        case _:
            raise AssertionError
    assert Point.__match_args__ == Standard.__match_args__


def test_what_introspection_sees() -> None:
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.is_dataclass(Point(1))
    ours, theirs = dataclasses.fields(Point), dataclasses.fields(Standard)
    for a, b in zip(ours, theirs, strict=True):
        for name in ("name", "type", "default", "default_factory", "init", "repr", "compare"):
            assert getattr(a, name) == getattr(b, name)
    assert dataclasses.asdict(Point(1)) == dataclasses.asdict(Standard(1))
    assert list(inspect.signature(Point).parameters) == list(inspect.signature(Standard).parameters)
    assert typing.get_type_hints(Point.__init__)["x"] is int
    assert Point.__doc__ == "A frozen one."

    @dataclasses.dataclass(frozen=True, slots=True)
    class More(Point):
        w: int = 9

    assert More(1).w == 9
    assert len(dataclasses.fields(More)) == 6


def test_super_without_arguments() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Base:
        a: int

        def value(self) -> int:
            return self.a

        @property
        def other(self) -> int:
            return self.a

    @values.dataclass(frozen=True, slots=True)
    class Plus(Base):
        b: int = 1

        @property
        def other(self) -> int:
            return super().other + self.b

        def value(self) -> int:
            return super().value() + self.b

    assert (Plus(1).value(), Plus(1).other) == (2, 2)


def test_own_methods_are_kept() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(3)) == 1


def test_what_is_not_offered_is_an_error() -> None:
    with pytest.raises(TypeError, match="slots"):
        values.dataclass(frozen=True)(type("A", (), {}))
    with pytest.raises(ValueError, match="default_factory"):
        values.dataclass(slots=True)(type("Mutable", (), {"a": [], "__annotations__": {"a": list}}))

    with pytest.raises(TypeError, match="ClassVar"):

        @values.dataclass(slots=True)
        class WithClassVar:
            a: typing.ClassVar[int] = 1

    with pytest.raises(TypeError, match="b has no default"):
        values.dataclass(slots=True)(type("Order", (), {"a": 1, "__annotations__": {"a": int, "b": int}}))


@dataclasses.dataclass(frozen=True)
class Derived(Point):
    """By the standard library, from one of ours; without slots."""

    mine: int = 3


class WithInit(Point):
    """By hand, with an attribute of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(len(name))
        object.__setattr__(self, "name", name)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_copies_of_derived_classes_lose_nothing(copied: Callable[[Any], Any]) -> None:
    assert copied(Derived(1, mine=4)) == Derived(1, mine=4)
    assert copied(WithInit("abc")).name == "abc"
    assert copied(WithInit("abc")).x == 3


def test_signature_of_a_derived_class_is_its_own() -> None:
    assert list(inspect.signature(WithInit).parameters) == ["name"]
    assert list(inspect.signature(Derived).parameters)[-1] == "mine"
