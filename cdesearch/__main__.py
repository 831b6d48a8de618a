"""The entry point of the commands `cdesearch` and `python -m cdesearch`."""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C ends the process without a traceback, even while modules are being imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the caller ignores Ctrl-C
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from cdesearch.cli.exits import raise_on_signal
        from cdesearch.cli.start import main as run

        raise_on_signal(signal.SIGINT)
    else:
        from cdesearch.cli.start import main as run
    run()


if __name__ == "__main__":
    main()
