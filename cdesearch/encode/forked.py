"""Raise an error in a process that was forked from one that has searched or encoded.

LanceDB, ONNX Runtime and this package use threads, and a forked child has none of them. A search in it would wait for
an answer forever.
"""

import os
import warnings

from cdesearch.errors import IndexStateError

_owner: int | None = None  # the first process that used these libraries; a forked child inherits the value


def claim_process() -> None:
    """Record that this process has such threads; raises IndexStateError in a child that was forked from it.

    The warning of LanceDB in such a child is not shown, because the error says more.
    """
    global _owner  # noqa: PLW0603 (the state of a process)
    process = os.getpid()
    if _owner is None:
        _owner = process
        warnings.filterwarnings("ignore", "lancedb fork support is experimental", RuntimeWarning)
    if _owner != process:
        raise IndexStateError(
            f"This process was forked from process {_owner}, whose open indexes and models work only there.",
            'Start it with the method "spawn" (multiprocessing.get_context("spawn")), and open the index in it.',
        )
