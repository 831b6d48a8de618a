"""While a GPU computes, the host continues until it reads a number from the device: a step must not read any.

The one exception are the eigenvectors of the whitening, for which every step waits once.

These tests need no GPU. They follow the parameters, the tensors that are sent to the device and all tensors computed
from these. An operation that would copy one of them to the host is an error.
"""

from dataclasses import replace

import pytest
import torch
from batches import VARIANTS, WINDOWED, make_batch, make_student, make_window_batch, weights_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from cdesearch.models.backbones import packed
from trainer.data import training_batch
from trainer.loss import batch_loss, whitening_head
from trainer.loss.batch_loss import BatchLoss
from trainer.recipe import Objective
from trainer.step import cached_pass, gradcache
from trainer.step.gradcache import GradCache
from trainer.step.optimizer import clip_by_group, make_optimizer, parameter_groups
from trainer.train import _Figures

aten = torch.ops.aten
WAITS = {
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten.repeat_interleave.Tensor,
    aten.equal.default,
    aten.bincount.default,
}


class WaitedError(AssertionError):
    pass


class OnDevice(TorchDispatchMode):
    """Follows the tensors that would be on a GPU, by their storages, which are kept so that none is reused."""

    def __init__(self, tensors):
        super().__init__()
        self.n_eigh = 0
        self._storages = {}
        for tensor in tensors:
            self.put(tensor)

    def put(self, tensor):
        self._storages[tensor.untyped_storage()._cdata] = tensor.untyped_storage()
        return tensor

    def holds(self, tensor):
        return tensor.untyped_storage()._cdata in self._storages

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        from_device = any(map(self.holds, given))
        self.n_eigh += from_device and function is aten._linalg_eigh.default
        is_mask = function is aten.index.Tensor and any(i is not None and i.dtype == torch.bool for i in args[1])
        if from_device and (function in WAITS or is_mask):
            raise WaitedError(f"{function} makes the host wait")
        found = function(*args, **(kwargs or {}))
        if from_device:
            for leaf in tree_leaves(found):
                if isinstance(leaf, torch.Tensor):
                    self.put(leaf)
        return found


def refusing(mode, method):
    def method_on_host(tensor, *args, **kwargs):
        if mode.holds(tensor):
            raise WaitedError(f"{method.__name__} makes the host wait")
        return method(tensor, *args, **kwargs)

    return method_on_host


def take_step(monkeypatch, variant, packs, n_null=1):
    """Take one complete training step; returns its figures, and how often it waited for eigenvectors."""
    monkeypatch.setattr(gradcache, "has_kernel", lambda _: packs)
    if variant == "windows":
        (model, head), batch = make_student(WINDOWED), make_window_batch()
    else:
        model, head = make_student(VARIANTS[variant])
        batch = replace(make_batch(n_null=n_null), siblings=torch.arange(12) // 2)
    batch = replace(batch, teacher=torch.randn(12, 12))
    groups = parameter_groups(model, head)
    optimizer = make_optimizer(groups, dict.fromkeys(groups, 1e-3))
    cache, loss = GradCache(model, head, 5), BatchLoss(head, 0.6, 0.05, 0.5, Objective(contextual=variant == "windows"))
    weights = weights_of(head, batch)
    mode = OnDevice([*model.parameters(), *head.parameters()])

    def sent(tensor, device):
        return mode.put(tensor.clone())

    for module in (training_batch, cached_pass, gradcache, batch_loss, whitening_head):
        monkeypatch.setattr(module, "sent", sent)
    monkeypatch.setattr(
        packed.Packing,
        "to",
        lambda packing, _: replace(
            packing, **{name: mode.put(getattr(packing, name).clone()) for name in ("ids", "positions", "text")}
        ),
    )  # without the bounds, which only attention without a kernel reads on the host
    for name in ("tolist", "numpy", "cpu"):  # a dispatch mode does not see these on a CPU
        monkeypatch.setattr(torch.Tensor, name, refusing(mode, getattr(torch.Tensor, name)))
    with mode:
        output = cache.step(batch, weights, lambda q, d, c: loss.of(batch, q, d, c))
        cache.average_gradients()
        norms = clip_by_group(groups)
        optimizer.step()
        figures = _Figures(1, 12, output, norms)
        with pytest.raises(WaitedError):
            figures.read()
    monkeypatch.undo()
    return figures.read(), mode.n_eigh


@pytest.mark.slow
@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("variant", ["windows", *VARIANTS])
def test_in_a_step_the_host_does_not_wait_for_the_device(variant, packs, monkeypatch):
    figures, n_eigh = take_step(monkeypatch, variant, packs)
    assert figures["loss"] > 0 and figures["norms"].keys() >= {"backbone", "head"}
    assert n_eigh == 1, "the whitening is computed once, for queries and documents"


@pytest.mark.parametrize("waits", [lambda x: x.item(), lambda x: bool(x > 0), lambda x: torch.ones(2)[x[None] > 0]])
def test_operations_that_make_the_host_wait_are_detected(waits):
    parameter = torch.nn.Parameter(torch.ones(()))
    with OnDevice([parameter]), pytest.raises(WaitedError):
        waits(parameter * 2)
