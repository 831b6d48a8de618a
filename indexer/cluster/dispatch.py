"""Run tasks on a cluster, a bounded number at a time, and turn their failures into errors of this project."""

import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from cdesearch.errors import CdesearchError, ClusterError

HEAD_SECONDS = 10.0  # in which the head of the cluster must answer
WAIT_SECONDS = 1.0  # between two looks for signals such as Ctrl-C
# After the death of a process or machine. Ray also restarts a worker that needs too much memory, so there is a limit.
RETRIES = 5
CONTINUES = "The same command continues, and reuses every finished embedding."

Input = TypeVar("Input")


def completed(submit: Callable[[Input], Any], inputs: Iterable[Input], at_once: int) -> Iterator[tuple[Input, Any]]:
    """Each input with the result of its task, as they end; `submit` begins a task.

    An input is taken only when its task begins. Raises CdesearchError.
    """
    waiting = iter(inputs)
    running: dict[Any, Input] = {}
    while True:
        for one in waiting:
            running[submit(one)] = one
            if len(running) >= at_once:
                break
        if not running:
            return
        for done in _next_done(list(running)):
            yield running.pop(done), _result_of(done)


def run_on_worker(function: Callable[..., Any], *given: Any, **resources: Any) -> Any:
    """Return what a function returns in one task; raises CdesearchError, also if the head of the cluster ends."""
    ((_, result),) = completed(lambda given: task(function, **resources).remote(*given), [given], 1)
    return result


def _result_of(task: Any) -> Any:
    """The result of a task; raises what the task has raised, and ClusterError if its worker died again and again."""
    import ray

    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, CdesearchError | OSError):  # such as that of a full disk, as on one machine
            raise error.cause from None
        raise (error.cause if isinstance(error.cause, Exception) else error) from error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise ClusterError(f"A worker of the cluster has failed {RETRIES + 1} times ({reason}).", CONTINUES) from None


def _next_done(tasks: list[Any]) -> list[Any]:
    import ray

    while True:
        done, _ = ray.wait(tasks, num_returns=1, timeout=WAIT_SECONDS)
        if done:
            return list(done)
        _check_head(ray.get_runtime_context().gcs_address)


def _check_head(address: str) -> None:
    """Raise ClusterError if the head of the cluster has ended. Ray itself would end this process after a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), HEAD_SECONDS).close()
    except OSError:
        raise ClusterError(f"The head of the cluster, {address}, does not answer any more.", CONTINUES) from None


def task(function: Callable[..., Any], **resources: Any) -> Any:
    """A function as a Ray task, repeated if its worker dies."""
    import ray

    return ray.remote(max_retries=RETRIES, **resources)(function)
