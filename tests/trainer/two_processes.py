"""One of two processes that share a batch: python two_processes.py RANK STORE OUT [VARIANT DROPOUT]..."""

import sys

import torch
import torch.distributed as dist
from batches import VARIANTS, gradients, loss_fn_of, make_batch, make_student, weights_of

from trainer.step.gradcache import GradCache


def find(variant, dropout):
    """Loss, gradients and values of the cached context for one batch."""
    model, head = make_student(VARIANTS[variant], dropout=dropout)
    batch = make_batch()
    values = []
    make = model.second_stage.cache
    model.second_stage.cache = lambda *given: values.append(made := make(*given)) or made
    cache = GradCache(model, head, micro_batch=4)
    output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
    cache.sum_gradients()
    return {"loss": output.loss.item(), "gradients": gradients(model, head), "values": [v.detach() for _, v in values]}


rank, store, out, *cases = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
pairs = zip(cases[::2], map(float, cases[1::2]), strict=True)
torch.save({(variant, dropout): find(variant, dropout) for variant, dropout in pairs}, f"{out}.{rank}")
dist.destroy_process_group()
