import pytest
import torch
from spans import Spans


def assert_same(one, other):
    assert one[0] == pytest.approx(other[0], abs=1e-5)
    assert one[1].keys() == other[1].keys()
    for name, gradient in one[1].items():
        torch.testing.assert_close(gradient, other[1][name], atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize("keeps_graph", [False, True])
@pytest.mark.parametrize(("micro_batch", "dropout"), [(1, 0.0), (5, 0.3), (64, 0.3)])
def test_vectors_and_a_local_loss_have_the_full_graphs_gradient(micro_batch, dropout, keeps_graph):
    results = []
    for run in (lambda spans: spans.full_graph(micro_batch), lambda spans: spans.cached(micro_batch, keeps_graph)):
        spans = Spans(dropout)
        torch.manual_seed(5)
        results.append(run(spans))
    assert_same(*results)


@pytest.mark.parametrize("keeps_graph", [False, True])
def test_the_local_loss_of_a_text_is_computed_once(keeps_graph):
    spans = Spans()
    spans.cached(5, keeps_graph)
    assert sorted(spans.decoded) == [2, 5, 5]
