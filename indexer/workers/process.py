"""One worker process, seen from the side that started it."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from io import BufferedReader
from typing import BinaryIO, cast

from cdesearch.errors import CdesearchError
from indexer.workers.messages import Message, receive, send

COMMAND = (sys.executable, "-P", "-m", "indexer.workers.worker")  # -P: no module of the folder one happens to be in
START_SECONDS = 120
KEPT_ERRORS = 10_000  # bytes
OUT_OF_MEMORY = (b"memory allocation of", b"bad_alloc", b"MemoryError", b"out of memory", b"Cannot allocate memory")
SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGABRT": "aborted",
    "SIGBUS": "bus error",
    "SIGILL": "illegal instruction",
}
ACCESS_VIOLATION = 0xC0000005  # how Windows calls a segmentation fault


class Worker:
    """A process that reads one file at a time; raises CdesearchError where it cannot be started."""

    def __init__(self) -> None:
        self.killed_because: str | None = None
        self.waiting_since: float | None = None  # for its next message
        self.is_set = False
        detached = {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x00000200}
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(),
                **detached,  # not reached by Ctrl-C: the parent stops it
            )
        except OSError as error:
            raise cannot_start(error.strerror or str(error)) from None
        self._errors = b""
        self._drain = threading.Thread(target=self._keep_errors, daemon=True)
        self._drain.start()

    def _keep_errors(self) -> None:
        """Read what the process writes to stderr, so that it never waits for that; keep the end."""
        stream = cast(BufferedReader, self._process.stderr)
        while block := stream.read1(1 << 16):
            self._errors = (self._errors + block)[-KEPT_ERRORS:]

    def tell(self, message: Message) -> None:
        """Send a task; where the process is gone, its next answer says so."""
        with suppress(OSError, ValueError):
            send(cast(BinaryIO, self._process.stdin), message)

    def hear(self) -> Message | None:
        """Its next message; None where it has ended."""
        self.waiting_since = time.monotonic()
        try:
            return receive(cast(BinaryIO, self._process.stdout))
        except (OSError, ValueError):
            return None
        finally:
            self.waiting_since = None

    def kill(self, because: str | None = None) -> None:
        """End it now."""
        self.killed_because = self.killed_because or because
        self._process.kill()

    def bury(self, memory_bytes: int) -> str:
        """Collect the ended process; returns what a person should know of its end."""
        self._process.kill()
        code = self._process.wait()
        self._drain.join()
        self._close()
        errors = self._errors
        if self.killed_because:
            return self.killed_because
        if not self.is_set:
            return (errors.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"])[-1]
        if any(sign in errors for sign in OUT_OF_MEMORY):
            return f"needs more than {memory_bytes / 1e9:g} GB of memory"
        return _crash(code)

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                cast(BinaryIO, stream).close()


def _crash(code: int) -> str:
    if code == -signal.SIGKILL if os.name == "posix" else False:
        return "its process was killed, perhaps for lack of memory"
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"its parser crashed ({SIGNALS.get(name, name)})"
    return "its parser crashed" + (" (access violation)" if code == ACCESS_VIOLATION else f" (exit code {code})")


def _environment() -> dict[str, str]:
    """Ours, with the same places for modules, and one thread a worker: there is a worker for every core."""
    places = os.pathsep.join(place for place in sys.path if place)
    return os.environ | {
        "PYTHONPATH": places,
        "TOKENIZERS_PARALLELISM": "false",
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more than they use, which counts as used
    }


def cannot_start(detail: str) -> CdesearchError:
    """The error of an installation that cannot run a worker at all."""
    return CdesearchError(f"The process that reads files cannot start ({detail}).", "Install cdesearch again.")
