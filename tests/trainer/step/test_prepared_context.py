import pytest
import torch

from trainer.step.prepared_context import PreparedContext


@pytest.mark.parametrize("read", [(), ("keys",), ("values",), ("keys", "values")])
def test_a_context_that_no_text_has_read_gets_gradient_zero(read):
    """If there are fewer texts than processes, some processes have no text."""
    vectors = torch.ones(3, 4, requires_grad=True)
    prepared = PreparedContext(vectors, torch.zeros(3, dtype=torch.bool), (2 * vectors, 5 * vectors))
    for name in read:
        getattr(prepared, name).sum().backward()
    assert vectors.grad is None
    prepared.backward()
    torch.testing.assert_close(vectors.grad, torch.full((3, 4), 2.0 * ("keys" in read) + 5.0 * ("values" in read)))


def test_a_context_without_keys_and_values_has_nothing_to_run_backward_through():
    vectors = torch.ones(3, 4, requires_grad=True)
    prepared = PreparedContext(vectors, torch.zeros(3, dtype=torch.bool))
    prepared.backward()
    assert (prepared.keys, prepared.values, vectors.grad) == (None, None, None)
