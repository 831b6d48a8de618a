"""The process that keeps one index of a server up to date, until its standard input is closed."""

import os
import signal
import sys
import threading
from pathlib import Path

import typer

from cdesearch.builders import BUILDER
from cdesearch.cli.exits import raise_on_signal
from cdesearch.errors import CdesearchError
from cdesearch.slim_imports import leave_out_rest_client


def main(folder: Path, refresh: str) -> int:
    """Update the index in `folder` whenever its files change, and print a line about each update; returns the code."""
    raise_on_signal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to the server as well, which ends this
    leave_out_rest_client()
    # NumPy reads this when it is imported. On a busy machine, whitening with two threads takes many times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    stop = threading.Event()
    threading.Thread(target=_wait_for_end, args=(stop,), daemon=True).start()
    tools = BUILDER.warm()
    try:
        BUILDER.keep_up(folder, tools, _say, stop, refresh)
    except CdesearchError as error:
        _say(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        return 143
    finally:
        tools.close()
    return 0


def _wait_for_end(stop: threading.Event) -> None:
    """Set `stop` when the server has ended."""
    sys.stdin.read()
    stop.set()


def _say(line: str) -> None:
    typer.echo(line)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
