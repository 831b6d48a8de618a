import numpy as np
import pytest
import torch
from conftest import TINY, make_model
from torch.nn import functional

from cdesearch.errors import ModelError
from trainer.pretraining.condenser import Condenser, CondenserHead
from trainer.pretraining.head_file import load_head, save_head
from trainer.pretraining.masked_tokens import published_decoder


@pytest.fixture
def texts():
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(4, 160, (3, 7), generator=random)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[0, 2] = chosen[1, 3] = chosen[2, 5] = chosen[2, 6] = True
    return ids, mask, chosen


def make_condenser(slot="mean"):
    backbone = make_model().second_stage.backbone
    torch.manual_seed(1)
    return Condenser(backbone, CondenserHead(TINY.backbone, 2), 1, slot).eval()


def by_hand(condenser, ids, mask, chosen):
    """Each text alone and without padding, and the losses in NumPy."""
    backbone, head = condenser.backbone, condenser.head
    sums = np.zeros(2)
    for row in range(len(ids)):
        length = int(mask[row].sum())
        early = backbone.blocks[0](backbone.embed(ids[row : row + 1, :length]), None)
        late = backbone.blocks[1](early, None)
        vector = late[:, 0] if condenser.slot == "cls" else late.mean(1)
        rows = torch.cat([vector[:, None], early[:, 1:]], 1)
        for block in head.blocks:
            rows = block(rows, None)
        for number, states in enumerate((rows, late)):
            for place in torch.nonzero(chosen[row]).flatten().tolist():
                decoder = head.decoder
                state = decoder.norm(functional.gelu(decoder.transform(states[0, place])))
                logits = (backbone.tokens.weight @ state + decoder.bias).detach().numpy().astype(np.float64)
                sums[number] += np.log(np.exp(logits).sum()) - logits[ids[row, place]]
    return sums


@pytest.mark.parametrize("slot", ["mean", "cls"])
def test_the_losses_are_those_of_head_and_last_layer_by_hand(texts, slot):
    condenser = make_condenser(slot)
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


def test_a_head_is_stored_and_another_shape_is_refused(tmp_path):
    head = make_condenser().head
    save_head(head, tmp_path / "head.safetensors")
    other = CondenserHead(TINY.backbone, 2)
    load_head(other, tmp_path / "head.safetensors")
    assert all(torch.equal(one, head.state_dict()[name]) for name, one in other.state_dict().items())
    with pytest.raises(ModelError, match="another number of layers"):
        load_head(CondenserHead(TINY.backbone, 1), tmp_path / "head.safetensors")
    (tmp_path / "head.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ModelError, match="is damaged"):
        load_head(other, tmp_path / "head.safetensors")


def test_a_published_decoder_is_used_if_it_is_complete_and_fits():
    decoder = CondenserHead(TINY.backbone, 1).decoder
    shapes = {name: tensor.shape for name, tensor in decoder.state_dict().items()}
    names = {"transform": "transform.dense", "norm": "transform.LayerNorm", "bias": "bias"}
    state = {}
    for name, tensor in decoder.state_dict().items():
        part, _, kind = name.partition(".")
        state["cls.predictions." + ".".join(filter(None, (names[part], kind)))] = torch.rand_like(tensor)
    found = published_decoder(state, shapes)
    assert found is not None and torch.equal(found["bias"], state["cls.predictions.bias"])
    decoder.load_state_dict(found)
    assert published_decoder({"cls.predictions.bias": torch.zeros(160)}, shapes) is None
    assert published_decoder(state | {"cls.predictions.bias": torch.zeros(5)}, shapes) is None
