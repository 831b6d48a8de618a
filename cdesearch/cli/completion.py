"""The command `completion`: print the script that completes commands and options in a shell."""

import sys
from typing import Annotated, Any, Literal

import typer

from cdesearch.cli.command_names import COMPLETING


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
