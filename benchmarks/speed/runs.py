"""Runs that can be compared: the seconds of a call, and calls each in a process of its own."""

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, ParamSpec, TypeVar

from cdesearch.errors import InputError

Given = ParamSpec("Given")
Result = TypeVar("Result")


def timed(call: Callable[[], Any]) -> float:
    """The seconds of a call."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def in_process(call: Callable[Given, Result], *given: Given.args, **options: Given.kwargs) -> Result:
    """The result of a call in a new process, whose peak memory is that of the call alone.

    Raises what the call raises, and InputError if the process was ended.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(call, *given, **options).result()
        except BrokenProcessPool:
            raise InputError(
                f"The process of {call.__name__.strip('_')} was ended.", "Free memory, or name smaller sizes."
            ) from None
