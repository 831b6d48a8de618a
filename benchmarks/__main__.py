"""The command line of the benchmarks, `python -m benchmarks`."""

from typing import TYPE_CHECKING

from cdesearch.cli.exits import run_and_exit
from cdesearch.errors import InputError

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run a command of the benchmarks; raises InputError if a library is missing."""
    try:
        app = commands()
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed.", "Run `pip install -e '.[bench]'`.") from None
    app()


def commands() -> "typer.Typer":
    """All commands. A benchmark is a function whose parameters are its options."""
    import typer

    from benchmarks.folders.answers import answers
    from benchmarks.folders.command import folders
    from benchmarks.quality.beir import beir
    from benchmarks.quality.code import code
    from benchmarks.quality.tools import tools
    from benchmarks.speed.command import speed

    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback(help="Measure the quality and the cost of cdesearch and of other systems.")(lambda: None)
    for one in (answers, beir, code, folders, speed, tools):
        app.command()(one)
    return app


if __name__ == "__main__":
    run_and_exit(main)
