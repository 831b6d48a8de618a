"""The process `cdesearch` or `python -m cdesearch`, from its first moment."""

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C while its modules are still being imported ends the process without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a caller that ignores Ctrl-C keeps doing so
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
        from cdesearch.cli.main import main as run

        signal.signal(signal.SIGINT, signal.default_int_handler)
    else:
        from cdesearch.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
