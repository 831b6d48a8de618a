import torch
from conftest import TINY

from cdesearch.models.backbones.attention import ContextAttention

D = TINY.backbone.dimension


@torch.no_grad()
def test_a_sink_that_a_text_attends_to_leaves_nothing_of_the_context():
    door = ContextAttention(D, 2, sink=True)
    door.set_weight(0.5)
    queries, (keys, values) = torch.randn(3, 5, D).abs(), torch.randn(2, 7, D)
    assert not door.sink.any(), "at the start the sink has the score zero"
    read = door(queries, keys, values)
    door.sink.fill_(100.0)
    assert read.abs().max() > 1e-3 and door(queries, keys, values).abs().max() < 1e-6
