"""The command line of the benchmarks, `python -m benchmarks`."""

from cdesearch.cli.exits import run_and_exit
from cdesearch.errors import InputError


def main() -> None:
    """Run a command of the benchmarks; raises InputError if a library is missing."""
    try:
        from benchmarks.commands import app
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed.", "Run `pip install -e '.[bench]'`.") from None
    app()


if __name__ == "__main__":
    run_and_exit(main)
