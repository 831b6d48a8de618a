"""One of two processes with one batch, or one each: python two_processes.py RANK STORE VARIANT DROPOUT OUT [own]."""

import sys

import torch
import torch.distributed as dist
from batches import VARIANTS, gradients, loss_fn_of, make_batch, make_student, weights_of

from trainer.step.gradcache import GradCache

rank, store, variant, dropout, out, *own = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
model, head = make_student(VARIANTS[variant], dropout=float(dropout))
batch = make_batch(n=(12, 9)[int(rank)] if own else 12)
values = []
make = model.second_stage.cache
model.second_stage.cache = lambda *given: values.append(made := make(*given)) or made
cache = GradCache(model, head, micro_batch=4, own_batches=bool(own))
output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
cache.sum_gradients()
found = {"loss": output.loss.item(), "gradients": gradients(model, head), "values": [v.detach() for _, v in values]}
torch.save(found, f"{out}.{rank}")
dist.destroy_process_group()
