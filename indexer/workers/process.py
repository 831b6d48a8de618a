"""A worker process, from the side of its parent."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from cdesearch.child_process import python_module, same_modules
from cdesearch.errors import CdesearchError
from cdesearch.store.filesystem import refusal, refusal_of
from indexer.workers.messages import Message, receive, send

COMMAND = python_module("indexer.workers.worker")
START_SECONDS = 120
# A worker has one thread. Other pools of Arrow reserve unused memory, which counts as used.
ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "ARROW_DEFAULT_MEMORY_POOL": "system"}
KEPT_ERRORS = 10_000  # bytes
OUT_OF_MEMORY = (b"memory allocation of", b"bad_alloc", b"MemoryError", b"out of memory", b"Cannot allocate memory")
ACCESS_VIOLATION = 0xC0000005  # the exit code for a segmentation fault on Windows
MOST_STEP = 1.0  # seconds between two calls that count: with a longer gap, this process itself was suspended


@dataclass(slots=True)
class Stopwatch:
    """Measures a process from the first call of `seconds`, which must be called several times a second.

    On Linux, a process that could compute but waits for a busy core does not spend time, and neither does a process
    that is suspended. Elsewhere, the time on the clock is measured.
    """

    process: int
    _spent: float = 0.0
    _at: float | None = None
    _cpu: float = 0.0

    def seconds(self) -> float:
        """The seconds that the process has spent since the first call."""
        now = time.monotonic()
        state, cpu = _state(self.process)
        if self._at is not None:
            step = min(now - self._at, MOST_STEP)
            self._spent += {"R": min(step, cpu - self._cpu), "T": 0.0, "t": 0.0}.get(state, step)
        self._at, self._cpu = now, cpu
        return self._spent


class Worker:
    """A process that reads one file at a time; raises CdesearchError if it cannot be started."""

    def __init__(self) -> None:
        self.killed_because: str | None = None
        self.awaited: Stopwatch | None = None  # measures the time until its next message
        self.is_ready = False  # whether it has received its settings
        self.part = ""  # the number of the attachment, or file in an archive, that it reads now
        self.seconds = 0.0  # that all parts of the file have taken
        detached = {"start_new_session": True} if os.name == "posix" else {"creationflags": 0x00000200}
        try:
            self._process = subprocess.Popen(
                [*COMMAND, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=same_modules() | ENVIRONMENT,
                **detached,  # so that Ctrl-C does not reach it: the parent stops it
            )
        except OSError as error:
            number = refusal_of(error)
            raise cannot_start(error.strerror or str(error), *([] if number is None else refusal(number)[1:])) from None
        self._errors = b""
        self._drain = threading.Thread(target=self._keep_errors, daemon=True)
        self._drain.start()

    def _keep_errors(self) -> None:
        """Read what the process writes to stderr, so that it never blocks; the last KEPT_ERRORS bytes are kept."""
        stream = cast(BufferedReader, self._process.stderr)
        while block := stream.read1(1 << 16):
            self._errors = (self._errors + block)[-KEPT_ERRORS:]

    def send(self, message: Message) -> None:
        """Send a task. A process that has ended is noticed when its answer is received."""
        with suppress(OSError, ValueError):
            send(cast(BinaryIO, self._process.stdin), message)

    def receive(self) -> Message | None:
        """The next message of the process; None if it has ended."""
        self.awaited = Stopwatch(self._process.pid)
        try:
            return receive(cast(BinaryIO, self._process.stdout))
        except (OSError, ValueError):
            return None
        finally:
            self.awaited = None

    def kill(self, because: str | None = None) -> None:
        """End the process now; `because` is the reason for the user."""
        self.killed_because = self.killed_because or because
        self._process.kill()

    def collect(self, memory_bytes: int) -> str:
        """End the process and release its resources; returns the reason of its end for the user."""
        self._process.kill()
        code = self._process.wait()
        self._drain.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError):
                cast(BinaryIO, stream).close()
        errors = self._errors
        if self.killed_because:
            return self.killed_because
        if not self.is_ready:
            return (errors.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"])[-1]
        if any(sign in errors for sign in OUT_OF_MEMORY):
            return f"needs more than {memory_bytes / 1e9:g} GB of memory"
        if os.name == "posix" and code == -signal.SIGKILL:
            return "its process was killed, perhaps for lack of memory"
        if code < 0:
            return f"its parser crashed ({(signal.strsignal(-code) or f'signal {-code}').lower()})"
        return f"its parser crashed ({'access violation' if code == ACCESS_VIOLATION else f'exit code {code}'})"


def cannot_start(detail: str, remedy: str = "Install cdesearch again.") -> CdesearchError:
    """The error for an installation, or a system, that cannot run any worker."""
    return CdesearchError(f"The process that reads files cannot start ({detail}).", remedy)


def _state(process: int) -> tuple[str, float]:
    """The state of a process as a letter, such as R for one that computes, and its processor time in seconds."""
    if sys.platform != "linux":
        return "", 0.0
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", 0.0
    fields = status.rpartition(")")[2].split()  # the name before it can contain anything
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
