"""The command `completion`: print the script that completes commands and options in a shell."""

import os
import sys
from collections.abc import Collection
from typing import Annotated, Any, Literal

import typer

from cdesearch.cli.command_names import COMPLETING, first_word


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell"], typer.Argument(help="The shell.")],
) -> None:
    """Print a script for the completion of commands.

    bash and zsh: add the line `eval "$(cdesearch completion bash)"` (or zsh) to ~/.bashrc or ~/.zshrc.
    fish: run `cdesearch completion fish > ~/.config/fish/completions/cdesearch.fish`.
    """
    import typer.completion

    functions: Any = typer.completion  # its type information leaves these functions out
    script = functions.get_completion_script(prog_name="cdesearch", complete_var=COMPLETING, shell=shell)
    sys.stdout.write(f"{script}\n")


def complete_queries(commands: Collection[str]) -> None:
    """If the line to complete names none of the `commands`, let it be completed as a query.

    A shell passes the line in an environment variable, and bash also the number of the word at the cursor.
    """
    for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS"):
        program, _, line = os.environ.get(name, "").partition(" ")
        cursor = os.environ.get("COMP_CWORD", "")
        words = line.split()[: int(cursor) if cursor.isdecimal() else None]
        is_between = len(words) < int(cursor) if cursor.isdecimal() else line[-1:].isspace()
        before, incomplete = (words, "") if is_between else (words[:-1], "".join(words[-1:]))
        first = first_word(before)
        is_option = bool(before) or incomplete.startswith("-")
        is_query = is_option if first is None else before[first] not in {*commands, "help"}
        if is_query:
            os.environ[name] = f"{program} query {line}"
            if cursor.isdecimal():
                os.environ["COMP_CWORD"] = str(int(cursor) + 1)
