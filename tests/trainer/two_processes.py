"""One of two processes that train together, each with a batch: python two_processes.py RANK STORE OUT VARIANT..."""

import sys

import torch
import torch.distributed as dist
from batches import VARIANTS, gradients, loss_fn_of, make_batch, make_student, weights_of

from trainer.step.gradcache import GradCache


def find(variant):
    """Loss and averaged gradients of the batch of this process."""
    model, head = make_student(VARIANTS[variant])
    batch = make_batch(n=(12, 9)[int(rank)])
    cache = GradCache(model, head, micro_batch=4)
    output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    cache.average_gradients()
    return {"loss": output.loss.item(), "gradients": gradients(model, head)}


rank, store, out, *variants = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
torch.save({variant: find(variant) for variant in variants}, f"{out}.{rank}")
