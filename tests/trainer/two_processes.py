"""One of two processes that train together: python two_processes.py RANK STORE OUT [VARIANT DROPOUT shared|own]..."""

import sys

import torch
import torch.distributed as dist
from batches import (
    VARIANTS,
    WINDOWED,
    gradients,
    loss_fn_of,
    make_batch,
    make_student,
    make_window_batch,
    weights_of,
)

from trainer.step.gradcache import GradCache


def find(variant, dropout, batches):
    """Loss, gradients and values of the cached context for one shared batch, or one of each process."""
    is_windowed, is_own = variant == "windows", batches == "own"
    model, head = make_student(WINDOWED if is_windowed else VARIANTS[variant], dropout=float(dropout))
    batch = make_window_batch() if is_windowed else make_batch(n=(12, 9)[int(rank)] if is_own else 12)
    values = []
    make = model.second_stage.cache
    model.second_stage.cache = lambda *given: values.append(made := make(*given)) or made
    cache = GradCache(model, head, micro_batch=4, own_batches=is_own)
    output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    cache.sum_gradients()
    return {"loss": output.loss.item(), "gradients": gradients(model, head), "values": [v.detach() for _, v in values]}


rank, store, out, *words = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
cases = zip(words[::3], words[1::3], words[2::3], strict=True)
torch.save({case: find(*case) for case in cases}, f"{out}.{rank}")
