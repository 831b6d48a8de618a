"""Run tasks on a cluster, a bounded number at a time, and turn their failures into errors of this project."""

import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from cdesearch.errors import CdesearchError, ClusterError

HEAD_SECONDS = 10.0  # in which the head of the cluster must answer
WAIT_SECONDS = 1.0  # between two looks for signals such as Ctrl-C
# After the death of a process or machine. Ray also restarts a worker that needs too much memory, so there is a limit.
RETRIES = 5
CONTINUES = "The same command continues, and reuses every finished embedding."

Input = TypeVar("Input")


def results(submit: Callable[[Input], Any], inputs: Iterable[Input], at_once: int) -> Iterator[tuple[Input, Any]]:
    """Each input with the result of its task, in order; `submit` begins a task, of which `at_once` run at a time.

    An input is taken only when its task begins. Raises CdesearchError.
    """
    waiting = iter(inputs)
    running = deque((one, submit(one)) for one in islice(waiting, at_once))
    while running:
        one, task = running.popleft()
        result = _result_of(task)
        running.extend((new, submit(new)) for new in islice(waiting, 1))
        yield one, result


def _result_of(task: Any) -> Any:
    """The result of a task; raises what the task has raised, and ClusterError if its worker died again and again."""
    import ray

    try:
        while not ray.wait([task], timeout=WAIT_SECONDS)[0]:
            _check_head(ray.get_runtime_context().gcs_address)
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, CdesearchError | OSError):  # such as that of a full disk, as on one machine
            raise error.cause from None
        raise (error.cause if isinstance(error.cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise ClusterError(f"A worker of the cluster has failed {RETRIES + 1} times ({reason}).", CONTINUES) from None


def _check_head(address: str) -> None:
    """Raise ClusterError if the head of the cluster has ended. Ray itself would end this process after a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), HEAD_SECONDS).close()
    except OSError:
        raise ClusterError(f"The head of the cluster, {address}, does not answer any more.", CONTINUES) from None
