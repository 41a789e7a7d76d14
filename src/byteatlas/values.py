"""Value classes that are cheap to make: `dataclass`, `field` and `replace` as in the standard library.

The standard decorator compiles up to six methods for each class: 0.3 ms each time Python starts. The first scan of
a process needs seventy classes, 20 ms. Here only ``__init__`` is compiled, after a few calls, and writes to the
slots directly, in half of the time. Comparing, hashing, printing and freezing are functions that all classes share.
What `dataclasses.fields`, `inspect.signature` and the like look at is made when it is asked for.

To a type checker these are the names of the standard library. Classes always have slots; for anything else (order,
keyword-only fields, ``InitVar``, ``ClassVar``) take the standard decorator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NamedTuple

__all__ = ["dataclass", "field", "replace"]

_NONE: Any = object()
"""No default."""
FIRST_CALLS = 3
"""Values of a class that are made before its ``__init__`` is compiled."""


class _Field:
    """What `field` was told."""

    __slots__ = ("compare", "default", "default_factory", "init", "repr")

    def __init__(
        self, default: Any, default_factory: Any, init: bool = True, repr: bool = True, compare: bool = True
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare


class _Facts(NamedTuple):
    """What the shared methods know of a class: its fields with their annotations, and some names."""

    fields: Mapping[str, tuple[_Field, Any]]
    compared: Callable[[Any], Any]
    printed: tuple[str, ...]
    options: Mapping[str, bool]


def _field(
    *, default: Any = _NONE, default_factory: Any = _NONE, init: bool = True, repr: bool = True, compare: bool = True
) -> Any:
    return _Field(default, default_factory, init, repr, compare)


def _dataclass(
    *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True
) -> Callable[[type], type]:
    if not slots:
        raise TypeError("slots=True, or the standard library's dataclass")
    return lambda cls: _with_methods(cls, {"frozen": frozen, "eq": eq, "repr": repr})


def _with_methods(cls: type, options: Mapping[str, bool]) -> type:
    inherited: dict[str, tuple[_Field, Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        if "__facts__" in base.__dict__:
            inherited.update(_facts(base).fields)
    content = dict(cls.__dict__)
    own = {name: (_taken(content, name), annotation) for name, annotation in cls.__annotations__.items()}
    fields = inherited | own
    _check(fields)
    content["__slots__"] = tuple(name for name in own if name not in inherited)
    content["__facts__"] = _Facts(
        fields,
        _getter([name for name, (f, _) in fields.items() if f.compare]),
        tuple(name for name, (f, _) in fields.items() if f.repr),
        options,
    )
    content.setdefault("__match_args__", tuple(name for name, (f, _) in fields.items() if f.init))
    for name in ("__dict__", "__weakref__"):
        content.pop(name, None)
    _add_shared(content, options)
    made = type(cls)(cls.__name__, cls.__bases__, content)
    _tell_super(content, made)
    if "__init__" not in content:
        _put(made, "__init__", _first_call(made, fields))
    return made


def _check(fields: Mapping[str, tuple[_Field, Any]]) -> None:
    """Errors where the class is defined, not where it is first called."""
    optional = ""
    for name, (f, annotation) in fields.items():
        if "ClassVar" in str(annotation) or "InitVar" in str(annotation):
            raise TypeError(f"{name}: ClassVar and InitVar are for the standard library's dataclass")
        if f.default is not _NONE or f.default_factory is not _NONE:
            optional = name if f.init else optional
        elif f.init and optional:
            raise TypeError(f"field {name} has no default, but follows {optional}, which has one")


def _taken(content: dict[str, Any], name: str) -> _Field:
    """A field's default, taken out of the class's content to make room for its slot."""
    default = content.pop(name, _NONE)
    if isinstance(default, _Field):
        return default
    if default is not _NONE and default.__class__.__hash__ is None:
        raise ValueError(f"mutable default for field {name}: use default_factory")
    return _Field(default, _NONE)


def _getter(names: list[str]) -> Callable[[Any], Any]:
    """The values of these fields as a tuple."""
    if not names:
        return lambda _: ()
    return attrgetter(*names, *(names if len(names) == 1 else ()))  # one name alone would give no tuple


def _tell_super(content: Mapping[str, Any], made: type) -> None:
    """``super()`` in a method looks for its class in a cell, which has the class from before slots were added."""
    for value in content.values():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        names = getattr(getattr(function, "__code__", None), "co_freevars", ())
        if "__class__" in names:
            function.__closure__[names.index("__class__")].cell_contents = made
            return  # all methods share the cell


def _first_call(cls: type, fields: Mapping[str, tuple[_Field, Any]]) -> Callable[..., None]:
    """An ``__init__`` for the first calls, after which the compiled one takes its place.

    Most classes are called never or a few times in a process, which does not pay for a compilation.
    """
    left = [FIRST_CALLS]

    def first(self: Any, /, *arguments: Any, **named: Any) -> None:
        left[0] -= 1
        if left[0] < 0 or not _filled(self, fields, arguments, named):
            made = _initializer(cls, fields)
            _put(cls, "__init__", made)
            made(self, *arguments, **named)

    return first


def _filled(
    value: Any, fields: Mapping[str, tuple[_Field, Any]], arguments: tuple[Any, ...], named: dict[str, Any]
) -> bool:
    """Set the fields of a new value; False where the arguments are wrong: the compiled function says what is."""
    names = [name for name, (f, _) in fields.items() if f.init]
    given = dict(zip(names, arguments, strict=False)) | named
    if len(given) != len(arguments) + len(named) or not given.keys() <= set(names):
        return False
    for name, (f, _) in fields.items():
        if name in given:
            content = given[name]
        elif f.default_factory is not _NONE:
            content = f.default_factory()
        elif f.default is not _NONE:
            content = f.default
        elif f.init:
            return False
        else:
            continue
        object.__setattr__(value, name, content)
    if hasattr(value, "__post_init__"):
        value.__post_init__()
    return True


def _put(cls: type, name: str, value: object) -> None:
    """What ``cls.NAME = value`` says; a type checker forbids it for ``__init__``."""
    setattr(cls, name, value)


def _initializer(cls: type, fields: Mapping[str, tuple[_Field, Any]]) -> Callable[..., None]:
    """``__init__``, compiled; the text has names of fields in it, which the class statement allowed, and no values."""
    parameters, lines, values = ["self"], [], {}
    for name, (facts, _) in fields.items():
        value = name
        if facts.default_factory is not _NONE:
            values[f"_new_{name}"], values["_NONE"] = facts.default_factory, _NONE
            parameter, value = f"{name}=_NONE", f"_new_{name}() if {name} is _NONE else {name}"
            value = value if facts.init else f"_new_{name}()"
        elif facts.default is not _NONE:
            values[f"_default_{name}"] = facts.default
            parameter, value = f"{name}=_default_{name}", name if facts.init else f"_default_{name}"
        elif facts.init:
            parameter = name
        else:
            continue  # `__post_init__` sets it
        values[f"_set_{name}"] = getattr(cls, name).__set__
        parameters += [parameter] if facts.init else []
        lines.append(f"  _set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    body = "\n".join(lines or ["  pass"])
    text = f"def make({', '.join(values)}):\n def __init__({', '.join(parameters)}):\n{body}\n return __init__"
    module = sys.modules.get(cls.__module__)
    place: dict[str, Any] = {}
    exec(text, vars(module) if module else {}, place)
    made: Callable[..., None] = place["make"](**values)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: annotation for name, (facts, annotation) in fields.items() if facts.init}
    made.__annotations__["return"] = None
    return made


def _add_shared(content: dict[str, Any], options: Mapping[str, bool]) -> None:
    """The methods that all classes share, where the class does not define its own."""
    if options["repr"]:
        content.setdefault("__repr__", _repr)
    if options["eq"]:
        content.setdefault("__eq__", _equal)
        if content.get("__hash__") is None:  # Python puts None there for a class with an ``__eq__`` of its own
            content["__hash__"] = _hash if options["frozen"] else None
    if options["frozen"]:
        content["__setattr__"], content["__delattr__"] = _refuse_to_set, _refuse_to_delete
        if not {"__getstate__", "__reduce__"} & content.keys():
            content["__getstate__"], content["__setstate__"] = _get_state, _set_state
    content.setdefault("__replace__", _replace)
    for name in ("__dataclass_fields__", "__dataclass_params__"):
        content[name] = _OnDemand(name)
    if "__init__" not in content:
        content["__signature__"] = _OnDemand("__signature__")


@recursive_repr()
def _repr(self: Any) -> str:
    return (
        f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__facts__.printed)})"
    )


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    values = _facts(self).compared
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(self.__facts__.compared(self))


def _refuse_to_set(self: Any, name: str, _: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any] | dict[str, Any]:
    if "__facts__" in type(self).__dict__:
        return [getattr(self, name) for name in self.__facts__.fields]
    from dataclasses import fields  # a class derived elsewhere may have more of them, and attributes besides

    return {**getattr(self, "__dict__", {}), **{f.name: getattr(self, f.name) for f in fields(self)}}


def _set_state(self: Any, state: list[Any] | dict[str, Any]) -> None:
    named = state if isinstance(state, dict) else dict(zip(self.__facts__.fields, state, strict=True))
    for name, value in named.items():
        object.__setattr__(self, name, value)


def _replace(self: Any, /, **changes: Any) -> Any:
    """The same value with other values of some fields."""
    facts = getattr(self, "__facts__", None)
    if facts is None:
        import dataclasses

        return dataclasses.replace(self, **changes)
    for name, (described, _) in facts.fields.items():
        if described.init:
            if name not in changes:
                changes[name] = getattr(self, name)
        elif name in changes:
            raise ValueError(f"field {name} is declared with init=False, it cannot be specified with replace()")
    return type(self)(**changes)


def _facts(value: Any) -> _Facts:
    """Of a class, or of a value of it."""
    found: _Facts = value.__facts__
    return found


def _made_here(cls: type) -> bool:
    """Whether ``__init__`` is ours, not that of a class that was derived from one of ours."""
    return next("__facts__" in base.__dict__ for base in cls.__mro__ if "__init__" in base.__dict__)


class _OnDemand:
    """What the standard library's functions and `inspect` look for in a class; made at the first look."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        from byteatlas.introspection import signature, standard

        if self.name == "__signature__":
            if instance is not None or not _made_here(owner):
                raise AttributeError(self.name)
            return signature(_initializer(owner, _facts(owner).fields))
        cls = next(base for base in owner.__mro__ if "__facts__" in base.__dict__)
        alike = standard(cls.__name__, _facts(owner).fields, _facts(owner).options, _NONE)
        for name in ("__dataclass_fields__", "__dataclass_params__"):
            setattr(cls, name, alike.__dict__[name])
        return alike.__dict__[self.name]


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _field, _replace
