import pytest
import torch

from cdesearch.models.backbones.attention import SelfAttention
from cdesearch.models.backbones.bert import additive_mask
from cdesearch.models.backbones.joint_softmax import JointSoftmaxAttention


@pytest.mark.parametrize("log_gates", [False, True])
@torch.no_grad()
def test_one_softmax_is_the_mean_over_text_and_context_by_their_exponentials(log_gates):
    torch.manual_seed(0)
    attention, cross = SelfAttention(8, 2), JointSoftmaxAttention(8, 2, log_gates=log_gates)
    cross.set_weight(0.3)
    rows, keys, values = torch.randn(3, 5, 8), torch.randn(4, 8), torch.randn(4, 8)
    mask = torch.ones(3, 5)
    mask[0, 3:] = 0
    q, k, v, context_keys, context_values = (
        x.unflatten(-1, (2, 4)).transpose(-2, -3) for x in (*attention.qkv(rows).chunk(3, dim=-1), keys, values)
    )
    text = (q @ k.transpose(-1, -2) / 2).exp() * mask[:, None, None]
    counts = 0.3 * mask.sum(1)[:, None, None, None] / 4
    context = (q @ context_keys.transpose(-1, -2) / 2).exp() * counts
    mixed = (text @ v + context @ context_values) / (text.sum(-1, keepdim=True) + context.sum(-1, keepdim=True))
    expected = attention.out(mixed.transpose(1, 2).flatten(2))
    found = attention(rows, additive_mask(mask, torch.float32), (cross, (keys, values, None)))
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("weight", [1e-6, 1e-3, 0.5, 3.0])
def test_the_gradient_of_a_log_gate_never_vanishes(weight):
    cross = JointSoftmaxAttention(8, 2, log_gates=True)
    cross.set_weight(weight)
    text, (keys, values) = torch.randn(3, 3, 5, 8), torch.randn(2, 4, 8)
    cross.mix(tuple(text), (keys, values, None), None)[..., 0].sum().backward()
    assert (cross.gate.grad[0] / weight).abs() > 1e-3  # only the first head has dimension 0


@pytest.mark.parametrize("gate", [0.0, -0.2])
def test_a_gate_of_one_softmax_at_or_below_zero_has_no_gradient_in_older_checkpoints(gate):
    cross = JointSoftmaxAttention(8, 2, log_gates=False)
    torch.nn.init.constant_(cross.gate, gate)
    text, (keys, values) = torch.randn(3, 3, 5, 8), torch.randn(2, 4, 8)
    cross.mix(tuple(text), (keys, values, None), None)[..., 0].sum().backward()
    assert not cross.gate.grad.any()
