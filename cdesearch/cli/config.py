"""The command `config`: which options have which values, and where they come from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cdesearch.cli.config_files import PROJECT_FILE, USER_FILE, ConfigFile, check_sections, config_files, user_file
from cdesearch.cli.pager import NoPagerOption, paged
from cdesearch.terminal import print_json, print_rows, print_text, printable

COLUMNS = ("command", "option", "value", "source")
SECRETS = frozenset({"token"})  # options whose values are not shown


def config(
    show_all: Annotated[bool, typer.Option("--all", help="Show all options, not only those that are set.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    no_pager: NoPagerOption = False,
) -> None:
    """Show which options a configuration file sets. A value on the command line has priority."""
    rows = [row for row in _rows(config_files()) if show_all or row[-1] != "default"]
    if as_json:
        print_json({"options": [dict(zip(COLUMNS, row, strict=True)) for row in rows]})
    elif rows:
        with paged(has_pager=not no_pager):
            print_rows([_cells(*row) for row in rows])
    else:
        print_text(
            f"No option differs from its default. A project's options are in {PROJECT_FILE} in its folder, and yours in"
            f" {printable(str(user_file() or USER_FILE))}, in a section for each command, such as [query]. `cdesearch"
            " config --all` lists the options."
        )


def _rows(files: list[ConfigFile]) -> Iterator[tuple[str, str, Any, str]]:
    """Yield every option of every command with its value; raises InputError for a file with a mistake."""
    from cdesearch.cli.configured import settings_of, shown_defaults

    commands = _commands()
    check_sections(files, commands)
    for name, command in sorted(commands.items()):
        for key, value, source in shown_defaults(settings_of(name, command, files), command):
            shown = "(hidden)" if key in SECRETS and value is not None else value
            shown = str(shown) if isinstance(shown, Path) else list(shown) if isinstance(shown, tuple) else shown
            yield name, key, shown, source


def _commands() -> dict[str, Any]:
    """All commands of typer by name, including those of other packages."""
    from cdesearch.cli.command_names import registered_commands
    from cdesearch.cli.main import app

    present = {command.name for command in app.registered_commands}
    for entry in registered_commands():
        if entry.name not in present:
            app.command(entry.name)(entry.load())
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def _cells(command: str, option: str, value: Any, source: str) -> tuple[str, str, str, str]:
    shown = "" if value is None else json.dumps(value, ensure_ascii=False)
    return f"[{command}]", option, printable(shown), printable(source)
