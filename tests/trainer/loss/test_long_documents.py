"""Document context in training is that of an index."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from cdesearch.context.document import add_document_context
from cdesearch.context.vectors import to_unit
from trainer.loss.batch_loss import in_document


@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 1000))
def test_document_context_is_added_as_in_an_index(n, weight, seed):
    random = np.random.default_rng(seed)
    own = to_unit(random.standard_normal((n, 8)).astype(np.float32))
    siblings = random.integers(0, min(n, 3), n)
    placed = in_document(torch.from_numpy(own), torch.from_numpy(siblings), weight).numpy()
    for number in set(siblings.tolist()):
        mine = siblings == number
        np.testing.assert_allclose(placed[mine], to_unit(add_document_context(own[mine], weight)), atol=1e-5)
