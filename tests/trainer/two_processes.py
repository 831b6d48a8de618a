"""One of two processes that share a batch: python two_processes.py RANK STORE ATTENTION OUT."""

import sys
from dataclasses import replace

import torch
import torch.distributed as dist
from batches import gradients, loss_fn_of, make_batch, make_student, weights_of
from conftest import TINY

from trainer.step.gradcache import GradCache

rank, store, attention, out = sys.argv[1:]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=int(rank), world_size=2)
model, head = make_student(replace(TINY, context_attention=attention))
batch = make_batch()
cache = GradCache(model, head, micro_batch=4)
output = cache.step(batch, weights_of(head, batch), loss_fn_of(head, batch))
cache.sum_gradients()
torch.save({"loss": output.loss.item(), "gradients": gradients(model, head)}, f"{out}.{rank}")
dist.destroy_process_group()
