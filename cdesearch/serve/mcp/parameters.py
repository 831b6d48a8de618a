"""The parameters of a tool: their JSON schema for the clients, and the validation of the values that clients send."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdesearch.errors import InputError

MAX_TEXT = 4_000  # characters of a value
NUMBER = re.compile(r"-?[0-9]{1,18}")
MAX_SHOWN = 60  # characters of an invalid value that an error message quotes


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool. Its value is a string, or an integer if the parameter has a `maximum`."""

    name: str
    description: str
    default: str | int | None = None
    is_required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0
    maximum: int = 0

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value of this parameter."""
        limits = {"minimum": self.minimum, "maximum": self.maximum} if self.maximum else {}
        return {
            "type": "integer" if self.maximum else "string",
            "description": self.description,
            **limits,
            **({"enum": list(self.choices)} if self.choices else {}),
            **({} if self.default is None else {"default": self.default}),
        }

    def checked(self, value: Any) -> str | int:
        """Validate a value that a client has sent, and return it with the type of the parameter; raises InputError."""
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
            value = str(value)  # for example the number of a page
        if not isinstance(value, str):
            raise self._wrong(value, "a string")
        if len(value) > MAX_TEXT:
            raise InputError(f"{self.name} has {len(value):,} characters.", f"Shorten it to {MAX_TEXT:,}.")
        if self.choices and value not in self.choices:
            raise self._wrong(value, f"one of {', '.join(self.choices)}")
        return value

    def _wrong(self, value: Any, wanted: str) -> InputError:
        shown = f"{value!r:.{MAX_SHOWN}}"
        return InputError(f"{self.name} cannot be {shown}.", f"It must be {wanted}.")


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the JSON schema of the arguments of a tool."""
    return {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in parameters},
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }


def checked(parameters: Sequence[Parameter], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the arguments of a call, and return the values of all parameters, defaults included.

    A client may send null instead of omitting a parameter. Raises InputError for unknown, missing or invalid arguments.
    """
    known = ", ".join(parameter.name for parameter in parameters)
    unknown = sorted(arguments.keys() - {parameter.name for parameter in parameters})
    if unknown:
        raise InputError(f"There is no parameter {unknown[0]:.{MAX_SHOWN}}.", f"The parameters are {known}.")
    values: dict[str, Any] = {}
    for parameter in parameters:
        value = arguments.get(parameter.name)
        if value is None and parameter.is_required:
            raise InputError(
                f"The parameter {parameter.name} is missing.", f"Pass {parameter.name}. {parameter.description}"
            )
        values[parameter.name] = parameter.default if value is None else parameter.checked(value)
    return values
