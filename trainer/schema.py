"""Validation of plain values, as TOML and JSON hold them, against the annotations of frozen dataclasses."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
MOST = 1_000_000_000  # of a count: more than any run needs, and small enough for every library


@dataclass(frozen=True, slots=True)
class Problem:
    """One value that does not fit the dataclass."""

    location: tuple[str, ...]  # the keys that lead to the value
    message: str
    known: tuple[str, ...] | None = None  # for an unknown key: the keys that exist there


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a field accepts, stored as `range` in the field's metadata."""

    minimum: float
    maximum: float = math.inf
    above: bool = False  # whether `minimum` itself is not accepted

    def holds(self, number: float) -> bool:
        """Whether the number is in the range; NaN never is."""
        return (number > self.minimum if self.above else number >= self.minimum) and number <= self.maximum

    def __str__(self) -> str:
        if self.above:
            return f"above {self.minimum:g} and at most {self.maximum:.10g}"
        if self.maximum < math.inf:
            return f"from {self.minimum:.10g} to {self.maximum:.10g}"
        return f"at least {self.minimum:g}"


def at_least(minimum: int) -> dict[str, Range]:
    """Metadata of a field that accepts numbers from `minimum` on."""
    return {"range": Range(minimum)}


def count(minimum: int, maximum: int = MOST) -> dict[str, Range]:
    """Metadata of a field that accepts whole numbers from `minimum` to `maximum`."""
    return {"range": Range(minimum, maximum)}


def above(minimum: float, maximum: float) -> dict[str, Range]:
    """Metadata of a field that accepts numbers larger than `minimum`, up to `maximum`."""
    return {"range": Range(minimum, maximum, above=True)}


def between(minimum: float, maximum: float) -> dict[str, Range]:
    """Metadata of a field that accepts numbers from `minimum` to `maximum`."""
    return {"range": Range(minimum, maximum)}


class SchemaError(ValueError):
    """Values do not fit a dataclass; `problems` holds one or more reasons."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{'.'.join(problem.location)}: {problem.message}" for problem in problems))
        self.problems = problems


def parse(kind: type[T], values: Any) -> T:
    """Build the dataclass `kind` from a table of values; raises SchemaError with every problem.

    Annotations may be bool, int, float, str, Path, Literal, list, dict, tuple, a union with None, dataclasses, and Any
    for a value that is checked elsewhere. An int is accepted for a float, and nothing else is converted. A float must
    be finite, a path must not contain the character NUL, and a number must be in the `range` of its field's metadata,
    if there is one. A field whose metadata has `set_keys` receives the names of the keys that are present.
    """
    problems: list[Problem] = []
    parsed = _dataclass(kind, values, (), problems)
    if problems:
        raise SchemaError(problems)
    assert isinstance(parsed, kind)
    return parsed


def keys_of(kind: Any) -> tuple[str, ...]:
    """The names of the fields that a user may set in the dataclass `kind`."""
    return tuple(field.name for field in fields(kind) if not field.metadata.get("set_keys"))


def to_plain(instance: Any) -> dict[str, Any]:
    """The dataclass as tables, lists, strings and numbers that `parse` and JSON accept."""
    plain: dict[str, Any] = {}
    for key in keys_of(instance):
        value = getattr(instance, key)
        plain[key] = to_plain(value) if is_dataclass(value) else _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _dataclass(kind: Any, values: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    if not isinstance(values, Mapping):
        problems.append(Problem(location, "input should be a table"))
        return None
    known, hints = keys_of(kind), get_type_hints(kind)
    problems += [Problem((*location, str(key)), "unknown key", known) for key in values if key not in known]
    n_before, parsed = len(problems), {}
    for field in fields(kind):
        if field.metadata.get("set_keys"):
            parsed[field.name] = frozenset(values)
        elif field.name in values:
            value = _value(hints[field.name], values[field.name], (*location, field.name), problems)
            accepted = field.metadata.get("range")
            if accepted is not None and value is not None and not accepted.holds(value):
                _wrong(str(accepted), (*location, field.name), problems)
            parsed[field.name] = value
        elif field.default is MISSING and field.default_factory is MISSING:
            problems.append(Problem((*location, field.name), "field required"))
    return kind(**parsed) if len(problems) == n_before else None


def _value(annotation: Any, value: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    if annotation is Any:
        return value
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return None if value is None else _value(inner, value, location, problems)
    if origin is Literal:
        return value if value in arguments else _wrong(_one_of(arguments), location, problems)
    if origin is not None:
        return {list: _list, tuple: _tuple, dict: _dict}[origin](arguments, value, location, problems)
    if is_dataclass(annotation):
        return _dataclass(annotation, value, location, problems)
    return _plain_value(annotation, value, location, problems)


def _plain_value(annotation: Any, value: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is float:
        return _finite(value, location, problems) if is_number else _wrong("a valid number", location, problems)
    if annotation is int:
        return value if is_number and isinstance(value, int) else _wrong("a valid integer", location, problems)
    if annotation is Path:
        is_path = isinstance(value, str | Path) and value != "" and "\0" not in str(value)
        return Path(value) if is_path else _wrong("a path", location, problems)
    if annotation is bool:
        return value if isinstance(value, bool) else _wrong("true or false", location, problems)
    return value if isinstance(value, str) else _wrong("a valid string", location, problems)


def _finite(value: float, location: tuple[str, ...], problems: list[Problem]) -> float:
    try:
        number = float(value)
    except OverflowError:  # an int of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        _wrong("a finite number", location, problems)
    return number


def _list(inner: tuple[Any, ...], value: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    if not isinstance(value, list | tuple):
        return _wrong("a valid list", location, problems)
    return [_value(inner[0], item, (*location, str(number)), problems) for number, item in enumerate(value)]


def _tuple(inner: tuple[Any, ...], value: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    if not isinstance(value, list | tuple) or len(value) != len(inner):
        return _wrong(f"a list of {len(inner)}", location, problems)
    pairs = enumerate(zip(inner, value, strict=True))
    return tuple(_value(kind, item, (*location, str(number)), problems) for number, (kind, item) in pairs)


def _dict(inner: tuple[Any, ...], value: Any, location: tuple[str, ...], problems: list[Problem]) -> Any:
    if not isinstance(value, Mapping):
        return _wrong("a table", location, problems)
    return {str(key): _value(inner[1], item, (*location, str(key)), problems) for key, item in value.items()}


def _one_of(choices: tuple[Any, ...]) -> str:
    *others, last = (repr(choice) for choice in choices)
    return f"{', '.join(others)} or {last}" if others else last


def _wrong(expected: str, location: tuple[str, ...], problems: list[Problem]) -> None:
    problems.append(Problem(location, f"input should be {expected}"))
