"""The rate of bf16 training steps compared with bf16 matrix products, on a GPU if there is one."""

import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.measurement import Measurement
from benchmarks.speed.operations import forward_operations
from benchmarks.speed.trainee import Trainee, read_batch
from benchmarks.speed.turns import in_turns

SHORTEST_TIMED = 0.01  # seconds


def rate_measurements(
    pairs: Path, model: Path, size: int, context_size: int, micro_batch: int, rounds: int
) -> list[Measurement]:
    """The rate of steps of the gradient cache in bf16, without and with cached context.

    A step counts as three forward passes, one forward and two backward. The first pass of the gradient cache and
    padding are overhead.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch = read_batch(pairs, model, size, context_size)
    plain, contextual = (
        Trainee(model, contextual=reads, micro_batch=micro_batch, device=device, precision=torch.bfloat16)
        for reads in (False, True)
    )
    steps = {"biencoder": lambda: plain.step(batch), "cached": lambda: contextual.step(batch)}
    took = in_turns({name: _to_the_end(step, device) for name, step in steps.items()}, rounds)
    lengths = [int(n) for tokens in (batch.queries, batch.documents) for n in tokens.mask.sum(1)]
    reached = 3 * forward_operations(plain.model.config.backbone, lengths) / took["biencoder"] / 1e9
    rate = _bf16_rate(device)
    detail = {"device": _name(device), "size": size, "micro_batch": micro_batch, "seconds": took}
    return [
        Measurement("biencoder step in bf16", size / took["biencoder"], "pairs/s", detail=detail),
        Measurement("cached context, first stage trained", size / took["cached"], "pairs/s"),
        Measurement("product of bf16 matrices", rate, "GFLOP/s"),
        Measurement("share that the biencoder's step reaches", 100 * reached / rate, "%", detail={"gflops": reached}),
    ]


def _bf16_rate(device: str) -> float:
    """The GFLOP/s of a product of square matrices in bf16, the best of five.

    The matrices grow until a product takes long enough to be timed: processors differ by a factor of a hundred.
    """
    for n in (256, 512, 1024, 2048, 4096, 8192):
        a = torch.randn(n, n, device=device, dtype=torch.bfloat16)
        multiply = _to_the_end(lambda a=a: a @ a, device)  # type: ignore[misc] # no type for a default of a lambda
        multiply()
        seconds = min(_seconds(multiply) for _ in range(5))
        if seconds > SHORTEST_TIMED:
            break
    return float(2 * n**3 / seconds / 1e9)


def _seconds(run: Callable[[], None]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _to_the_end(run: Callable[[], object], device: str) -> Callable[[], None]:
    """A function that waits for the result of `run`: on a GPU a call returns before its work is done."""

    def done() -> None:
        run()
        if device == "cuda":
            torch.cuda.synchronize()

    return done


def _name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "CPU"
