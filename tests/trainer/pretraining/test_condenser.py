from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import TINY, make_model
from safetensors.torch import save_file
from torch.nn import functional

from cdesearch.errors import ModelError
from trainer.pretraining.condenser import Condenser, CondenserHead, contrast_spans, load_head


@pytest.fixture
def texts():
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(4, 160, (3, 7), generator=random)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[0, 2] = chosen[1, 3] = chosen[2, 5] = chosen[2, 6] = True
    return ids, mask, chosen


def make_condenser():
    backbone = make_model().second_stage.backbone
    torch.manual_seed(1)
    return Condenser(backbone, CondenserHead(TINY.backbone)).eval()


def by_hand(condenser, ids, mask, chosen):
    """Each text alone and without padding, and the losses in NumPy."""
    backbone, head = condenser.backbone, condenser.head
    sums = np.zeros(2)
    for row in range(len(ids)):
        length = int(mask[row].sum())
        early = backbone.blocks[0](backbone.embed(ids[row : row + 1, :length]), None)
        late = backbone.blocks[1](early, None)
        rows = torch.cat([late.mean(1)[:, None], early[:, 1:]], 1)
        for block in head.blocks:
            rows = block(rows, None)
        for number, states in enumerate((rows, late)):
            for place in torch.nonzero(chosen[row]).flatten().tolist():
                decoder = head.decoder
                state = decoder.norm(functional.gelu(decoder.transform(states[0, place])))
                logits = (backbone.tokens.weight @ state + decoder.bias).detach().numpy().astype(np.float64)
                sums[number] += np.log(np.exp(logits).sum()) - logits[ids[row, place]]
    return sums


def test_the_losses_are_those_of_head_and_last_layer_by_hand(texts):
    condenser = make_condenser()
    ids, mask, chosen = texts
    found = condenser.losses(condenser.states(ids, mask), mask, ids, chosen)
    assert [loss.item() for loss in found] == pytest.approx(by_hand(condenser, *texts), rel=1e-4)


def test_late_layers_reach_the_head_through_the_vector_alone(texts):
    condenser = make_condenser()
    ids, mask, chosen = texts
    states = condenser.states(ids, mask)
    of_head, _ = condenser.losses(states._replace(vectors=states.vectors.detach()), mask, ids, chosen)
    of_head.backward()
    gradients = {name: one.grad for name, one in condenser.backbone.named_parameters()}
    assert all(one is None for name, one in gradients.items() if name.startswith("blocks.1."))
    assert all(one is not None for name, one in gradients.items() if name.startswith("blocks.0."))


def test_the_head_of_another_model_is_refused(tmp_path):
    file, other = tmp_path / "head.safetensors", CondenserHead(replace(TINY.backbone, dimension=32))
    save_file(make_condenser().head.state_dict(), file)
    with pytest.raises(ModelError, match=r"head\.safetensors is not the head of this model"):
        load_head(other, file)
    file.write_bytes(b"no tensors")
    with pytest.raises(ModelError, match=r"head\.safetensors is not the head of this model"):
        load_head(other, file)


def contrast_by_hand(vectors, temperature):
    scores = vectors @ vectors.T / temperature
    losses = []
    for row in range(len(vectors)):
        others = [column for column in range(len(vectors)) if column != row]
        losses.append(-scores[row, row ^ 1] + np.log(np.exp(scores[row, others]).sum()))
    return np.mean(losses)


@pytest.mark.parametrize(("kind", "temperature"), [("product", 1.0), ("product", 0.5), ("cosine", 0.05)])
def test_the_contrast_is_equation_6_of_cocondenser(kind, temperature):
    vectors = np.random.default_rng(0).normal(size=(10, 4))
    compared = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if kind == "cosine" else vectors
    loss, _ = contrast_spans(torch.tensor(vectors), kind, temperature)
    assert loss.item() == pytest.approx(contrast_by_hand(compared, temperature), rel=1e-5)
