import torch
from conftest import TINY

from cdesearch.models.backbones.attention import ContextAttention

D = TINY.backbone.dimension


@torch.no_grad()
def test_a_sink_that_a_text_attends_to_leaves_nothing_of_the_context():
    attention = ContextAttention(D, 2, sink=True)
    attention.gate.fill_(0.5)
    queries, (keys, values) = torch.randn(3, 5, D).abs(), torch.randn(2, 7, D)
    assert not attention.sink.any(), "the sink starts with the score zero"
    read = attention(queries, keys, values)
    attention.sink.fill_(100.0)
    assert read.abs().max() > 1e-3 and attention(queries, keys, values).abs().max() < 1e-6
