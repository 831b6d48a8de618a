"""The values that configuration files give to the options of a command.

Everything follows from the options that a command declares: each has the key under which a file sets it, and its own
conversion checks the value. A new option needs nothing here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import typer

from cdesearch.cli.command_names import command_names
from cdesearch.cli.config_files import (
    NEVER_OF_PROJECTS,
    ConfigFile,
    check_sections,
    config_files,
    did_you_mean,
    user_file,
)
from cdesearch.cli.usage import UsageError, usage_error
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import DEFAULT_NAME
from cdesearch.search.options import EXCLUSIVE, FILTERS
from cdesearch.store.place import BucketAddress, Place, absolute, parse_place
from cdesearch.store.trust import real
from cdesearch.terminal import printable

# A project's file may come from somebody else. Of the options whose value is any text or path, it sets only these:
# others could send texts to a server, open the computer to others, load a foreign model, or write outside the project.
TEXTS_OF_PROJECTS = frozenset({"include", "exclude", "max-file-size", "idle-exit", *(one.key for one in FILTERS)}) | {
    f"{kind}-column" for kind in ("text", "id", "title", "document")
}
PATHS_OF_PROJECTS = frozenset({"index"})  # within the project's folder
ID_OPTIONS = frozenset({"model"})  # a path or the id of a model; only a path that begins with a dot or ~ is relative
KEPT_OPTIONS = frozenset({"include", "exclude"})  # an index keeps their values until an empty value removes them
SHOWN = 300  # characters of a message that repeats a value


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of an option in a file, as the command line would accept it."""

    value: Any
    file: ConfigFile


def with_configuration(app: typer.Typer, arguments: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments to parse, and the defaults of the commands that replace the declared ones.

    `--no-NAME` on the command line revokes a flag that a file sets. Raises InputError.
    """
    if not arguments or arguments[0].startswith("-"):  # the help must work whatever a file contains
        return list(arguments), {}
    files = config_files()
    if not files and not any(argument.startswith("--no-") for argument in arguments):
        return list(arguments), {}
    check_sections(files, command_names())
    name, *rest = arguments
    command = typer.main.get_command(app).commands.get(name)  # type: ignore[attr-defined] # it is a group
    if command is None:
        return list(arguments), {}
    options = options_of(command)
    typed = rest[: rest.index("--")] if "--" in rest else rest  # all others are words
    revoked = {key for key, option in options.items() if option.is_flag and f"--no-{key}" in typed}
    revoked -= {key for key, option in options.items() if f"--no-{key}" in option.secondary_opts}
    # An option also counts as given if the value of another one has the same form. It then keeps its default.
    names = {name for argument in typed for name in (argument, argument.partition("=")[0])}
    given = {key for key, option in options.items() if names.intersection((*option.opts, *option.secondary_opts))}
    settings = settings_of(name, command, files, given | revoked)
    defaults = {options[key].name: setting.value for key, setting in settings.items()}
    kept = [argument for argument in rest if argument.removeprefix("--no-") not in revoked or argument in revoked]
    return [name, *kept], {name: defaults}


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command of typer by their keys, such as "max-file-size", or "k" for -k."""
    return {
        max(option.opts, key=len).lstrip("-"): option
        for option in command.params
        if option.param_type_name == "option" and not option.is_eager
    }


def settings_of(name: str, command: Any, files: Iterable[ConfigFile], given: Iterable[str] = ()) -> dict[str, Setting]:
    """The settings of a command, by the keys of its options; the first file that sets an option counts.

    Options in `given` have a value already. Raises InputError for a key or a value that the command does not accept.
    """
    options = options_of(command)
    context = typer.Context(command, info_name=f"cdesearch {name}")
    found: dict[str, Setting] = {}
    taken = set(given)
    for file in files:
        taken |= {EXCLUSIVE[key] for key in taken & EXCLUSIVE.keys() if key not in found or found[key].value}
        for key, value in file.sections.get(name, {}).items():
            if key not in options:
                raise InputError(
                    f"{printable(str(file.path))} sets {printable(key)[:SHOWN]} in [{name}], which is not an option of"
                    f" `cdesearch {name}`{did_you_mean(key, options)}.",
                    f"See `cdesearch {name} --help`.",
                )
            setting = Setting(_Value(file, name, key, options[key], context).checked(value), file)
            if key not in taken:
                found[key] = setting
        taken |= found.keys()
    return found


@dataclass(frozen=True, slots=True)
class _Value:
    """A value in a file, which is checked with the option's own conversion."""

    file: ConfigFile
    section: str
    key: str
    option: Any
    context: Any

    def checked(self, value: object) -> Any:
        """The value as the command line would accept it; raises InputError."""
        if self.option.is_flag:
            if not isinstance(value, bool):
                raise self._error("must be true or false")
            if self.file.is_project and self.key in NEVER_OF_PROJECTS:
                raise self._not_of_a_project()
            return value
        if isinstance(value, list) and not self.option.multiple:
            raise self._error("takes one value, not a list")
        values = value if isinstance(value, list) else [value]
        if not values and self.key in KEPT_OPTIONS:
            return [""]
        checked = [self._checked(one) for one in values]
        return checked if self.option.multiple else checked[0]

    def _checked(self, value: object) -> str | int | float:
        """A single value; a relative path becomes one that is relative to the file."""
        if isinstance(value, bool) or not isinstance(value, str | int | float | date):
            raise self._error("must be a text or a number")
        text = str(value)  # as it would be typed
        if not text or "\0" in text:
            raise self._error("must not be empty" if not text else "contains a NUL character")
        try:
            converted = self._converted(text)
        except UsageError as error:
            cause = usage_error(error, self.section).cause
            shown = printable(cause)[:SHOWN].removesuffix(".")
            raise self._error(f"is not accepted: {shown}") from None
        if isinstance(converted, int | float):
            return converted if isinstance(converted, int) else text
        is_known = self.key in TEXTS_OF_PROJECTS | PATHS_OF_PROJECTS
        is_harmless = self.key in ID_OPTIONS and text == DEFAULT_NAME  # the model that ships
        if self.file.is_project and not (is_known or is_harmless) and self._takes_any_text():
            raise self._not_of_a_project()
        return self._path(text) if isinstance(converted, Path | BucketAddress) else text

    def _converted(self, text: str) -> Any:
        found = self.option.process_value(self.context, [text] if self.option.multiple else text)
        return found[0] if self.option.multiple else found

    def _takes_any_text(self) -> bool:
        try:
            self._converted("a value that no list of choices contains")
        except UsageError:
            return False
        return True

    def _path(self, text: str) -> str:
        if self.key in ID_OPTIONS and not text.startswith((".", "~")):
            return text
        place: Place = parse_place(text) if self.key in PATHS_OF_PROJECTS else Path(text)
        if isinstance(place, BucketAddress):
            if self.file.is_project:
                raise self._error("must be inside the folder of this file")
            return text
        try:
            path = absolute(self.file.path.parent / place.expanduser())
        except RuntimeError:  # of an unknown user
            raise self._error(f"names a home folder that does not exist: {printable(text)[:SHOWN]}") from None
        if self.file.is_project and not real(path).is_relative_to(real(self.file.path.parent)):
            raise self._error("must be inside the folder of this file")
        return str(path)

    def _error(self, problem: str) -> InputError:
        return InputError(
            f"{printable(str(self.file.path))}: {self.key} in [{self.section}] {problem}.",
            f"See `cdesearch {self.section} --help`.",
        )

    def _not_of_a_project(self) -> InputError:
        return InputError(
            f"{printable(str(self.file.path))} sets {self.key} in [{self.section}], which the file of a project must"
            " not do, because it may come from somebody else.",
            f"Set the option in your own file ({user_file()}), or on the command line.",
        )


def shown_defaults(settings: Mapping[str, Setting], command: Any) -> list[tuple[str, Any, str]]:
    """Every option with its value and the place from which it comes: a file, the environment, or "default"."""
    context = typer.Context(command)
    rows = []
    for key, option in options_of(command).items():
        environment = option.value_from_envvar(context)
        setting = settings.get(key)
        if environment is not None:
            rows.append((key, environment, f"${option.envvar}"))
        elif setting is not None:
            rows.append((key, setting.value, str(setting.file.path)))
        else:
            rows.append((key, option.default, "default"))
    return rows
