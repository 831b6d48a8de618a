"""The parameters of a tool: the JSON schema that clients read, and the check of the values that they send."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdesearch.errors import InputError

MAX_TEXT = 4_000  # characters of a value
NUMBER = re.compile(r"-?[0-9]{1,18}")
SHOWN = 60  # characters of a wrong value that an error repeats


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter whose value is a text, or a whole number if it has a `minimum` and a `maximum`."""

    name: str
    description: str
    default: str | int | None = None
    is_required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        limits = {"minimum": self.minimum, "maximum": self.maximum} if self.maximum else {}
        return {
            "type": "integer" if self.maximum else "string",
            "description": self.description,
            **limits,
            **({"enum": list(self.choices)} if self.choices else {}),
            **({} if self.default is None else {"default": self.default}),
        }

    def checked(self, value: Any) -> str | int:
        """The value that a client has sent; raises InputError."""
        return self._number(value) if self.maximum else self._text(value)

    def _number(self, value: Any) -> int:
        wanted = f"a whole number from {self.minimum:,} to {self.maximum:,}"
        if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is not int or not self.minimum <= value <= self.maximum:
            raise self._wrong(value, wanted)
        return value

    def _text(self, value: Any) -> str:
        if type(value) is int and not self.choices:
            value = str(value)  # of a page, for example
        if not isinstance(value, str):
            raise self._wrong(value, "a text")
        if len(value) > MAX_TEXT:
            raise InputError(f"{self.name} has {len(value):,} characters.", f"Shorten it to {MAX_TEXT:,}.")
        if self.choices and value not in self.choices:
            raise self._wrong(value, f"one of {', '.join(self.choices)}")
        return value

    def _wrong(self, value: Any, wanted: str) -> InputError:
        shown = f"{value!r:.{SHOWN}}"
        return InputError(f"{self.name} cannot be {shown}.", f"It is {wanted}.")


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """The JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }


def checked(parameters: Sequence[Parameter], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all parameters, with their defaults; raises InputError for unknown, missing and wrong ones.

    A client may send null for a parameter that it leaves out.
    """
    known = ", ".join(parameter.name for parameter in parameters)
    unknown = sorted(arguments.keys() - {parameter.name for parameter in parameters})
    if unknown:
        raise InputError(f"There is no parameter {unknown[0]:.{SHOWN}}.", f"The parameters are {known}.")
    values: dict[str, Any] = {}
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is None and parameter.is_required:
            raise InputError(
                f"The parameter {parameter.name} is missing.", f"Pass {parameter.name}. {parameter.description}"
            )
        values[parameter.name] = parameter.default if value is None else parameter.checked(value)
    return values
