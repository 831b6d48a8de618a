"""The two-stage gradient cache (CDE section 4.2): a batch of any size in the memory of a micro-batch.

forward_without_gradient   first stage over the context, then second stage over queries and documents
loss_on_cache              the loss of the pooled vectors, and its gradient at them
replay                     the second stage again, onto parameters and context; from there the first stage again

Each network runs over its texts as a `CachedPass`, which repeats it with the same random states. Cached context is read
as keys and values, which are leaves between the two stages; joint context as the first-stage vectors themselves.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from cdesearch.models.backbones.bert import mean_pool, pool_chunks
from cdesearch.models.backbones.packed import Packing, has_kernel, packed_mean
from cdesearch.models.contextual.model import ContextualModel
from trainer.data.training_batch import Batch, Windows, sent
from trainer.execution import mean
from trainer.loss.batch_loss import LossOutput
from trainer.loss.heads import WhiteningHead
from trainer.step.cached_pass import CachedPass, Passing, Text

LossFn = Callable[[Tensor, Tensor, Tensor], LossOutput]  # from pooled queries, documents and context to the loss


class ReadContext:
    """The context as the second stage reads it: leaves that collect gradients, and the graph before them."""

    def __init__(self, vectors: Tensor, is_null: Tensor, cached: tuple[Tensor, Tensor] | None = None) -> None:
        """`vectors` (J, d) of the first stage are a leaf; `cached` are keys and values that were made of them."""
        self.vectors = vectors
        self.is_null = is_null
        self._made = cached or ()
        self._leaves = [part.detach().requires_grad_() for part in self._made]
        self.keys: Tensor | None
        self.values: Tensor | None
        self.keys, self.values = self._leaves if cached else (None, None)

    def backward(self) -> None:
        """Run backward from the gradients that keys and values have collected to the vectors."""
        if self._made:
            collected = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in self._leaves]
            torch.autograd.backward(self._made, collected)


@dataclass(frozen=True, slots=True)
class _Passes:
    """What the phase without gradient leaves for the others."""

    made_weights: Tensor  # (V,) of tokens, with the graph of the whitening head
    weights: Tensor  # the same as a leaf
    first_stage: CachedPass | None  # None: nothing reads the context
    context: ReadContext
    queries: CachedPass
    documents: CachedPass


class GradCache:
    """Adds the gradient of one batch to the parameters of a model and of its whitening."""

    def __init__(
        self, model: ContextualModel, head: WhiteningHead, micro_batch: int, *, precision: torch.dtype = torch.float32
    ) -> None:
        """Prepare the cache for `model` and `head`, with micro-batches of `micro_batch` texts."""
        self.model = model
        self._head = head
        self._micro_batch = micro_batch
        self._precision = precision
        self._device = next(model.parameters()).device
        first_stage = model.own_first_stage or model.second_stage.backbone
        self._trains_first_stage = any(parameter.requires_grad for parameter in first_stage.parameters())
        # In joint models every row begins with the whole context, so lengths differ little and packing gains nothing.
        self._packs = not model.second_stage.joint and has_kernel(torch.empty(0, dtype=precision, device=self._device))

    def step(self, batch: Batch, token_weights: Callable[[], Tensor], loss_fn: LossFn) -> LossOutput:
        """Add the batch's gradient to `.grad`; returns the loss. `token_weights` computes (V,) from the head."""
        with cast_once(self.model, self._precision):
            passes = self.forward_without_gradient(batch, token_weights)
            output = self.loss_on_cache(passes, batch, loss_fn)
            self.replay(passes)
        return output

    def forward_without_gradient(self, batch: Batch, token_weights: Callable[[], Tensor]) -> _Passes:
        """Run both stages over all texts, and keep their vectors."""
        made_weights = token_weights()
        weights = made_weights.detach().requires_grad_(made_weights.requires_grad)
        first_stage, context = self._read_context(batch)

        def embed(text: Text, _: Tensor) -> Tensor:
            return self._pooled(text, weights, context)

        queries = CachedPass(embed, batch.queries, self._passing())
        if batch.windows is not None:
            documents = self._window_pass(batch.windows, weights, context)
        else:
            documents = CachedPass(embed, batch.documents, self._passing())
        return _Passes(made_weights, weights, first_stage, context, queries, documents)

    def loss_on_cache(self, passes: _Passes, batch: Batch, loss_fn: LossFn) -> LossOutput:
        """The loss of the kept vectors; its gradient at them is in their `.grad`."""
        queries, kept = (one.vectors.requires_grad_() for one in (passes.queries, passes.documents))
        documents = self._of_documents(kept, batch)
        output = loss_fn(queries, documents, documents[sent(batch.context, self._device)])
        output.loss.backward()
        return output

    def replay(self, passes: _Passes) -> None:
        """Run both stages again with graphs, the second first, from the gradient at the kept vectors."""
        for one in (passes.documents, passes.queries):
            assert one.vectors.grad is not None
            one.replay(one.vectors.grad)
        if passes.weights.grad is not None:
            passes.made_weights.backward(passes.weights.grad)
        passes.context.backward()
        gradient = passes.context.vectors.grad
        if gradient is not None and passes.first_stage is not None and self._trains_first_stage:
            passes.first_stage.replay(gradient)

    @torch.no_grad()
    def vectors(self, batch: Batch, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Pooled queries (B, d) and documents (D, d) of a batch, for the weights (V,) of tokens."""
        passes = self.forward_without_gradient(batch, lambda: weights)
        return passes.queries.vectors, self._of_documents(passes.documents.vectors, batch)

    def average_gradients(self) -> None:
        """Give every process the mean of the gradients of all.

        Parameters that the batch did not use have gradient zero, with one process and with several.
        """
        for parameter in [*self.model.parameters(), *self._head.parameters()]:
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                mean(parameter.grad)

    def _of_documents(self, vectors: Tensor, batch: Batch) -> Tensor:
        """The vectors (D, d) of documents, from those of their windows if they were read in windows."""
        return vectors if batch.windows is None else vectors.flatten(0, 1)[sent(batch.windows.at, self._device)]

    def _read_context(self, batch: Batch) -> tuple[CachedPass | None, ReadContext]:
        """The pass of the first stage over the context, if anything reads it, and the context made of its vectors."""
        texts, is_null = batch.context_texts, sent(batch.is_null, self._device)
        made = None
        if batch.is_contextual and self.model.reads_context:
            passing = replace(self._passing(), keeps_graph=self._trains_first_stage)
            made = CachedPass(self._first_stage, texts, passing)
            vectors = made.vectors
        else:
            vectors = torch.zeros(len(texts), self.model.config.backbone.dimension, device=self._device)
        vectors.requires_grad_()
        if self.model.second_stage.joint or not self.model.reads_context:
            return made, ReadContext(vectors, is_null)
        with self._cast():
            return made, ReadContext(vectors, is_null, self.model.second_stage.cache(vectors, is_null))

    def _first_stage(self, text: Text, _: Tensor) -> Tensor:
        with self._cast():
            if isinstance(text, Packing):
                return self.model.packed_first_stage(text).float()
            return self.model.first_stage(text.ids, text.mask).float()

    def _pooled(self, text: Text, weights: Tensor, context: ReadContext) -> Tensor:
        """(B, d) vectors before whitening."""
        stage = self.model.second_stage
        if isinstance(text, Packing):
            with self._cast():
                states = stage.packed_states(text, context.keys, context.values)
            return packed_mean(states.float(), weights[text.ids[0]], text)
        with self._cast():
            if stage.joint:
                prefix = stage.context_prefix(context.vectors, context.is_null)
                states = stage.states_after(text.ids, text.mask, prefix)
            else:
                states = stage.states(text.ids, text.mask, context.keys, context.values)
        return mean_pool(states.float(), weights[text.ids] * text.mask)

    def _window_pass(self, windows: Windows, weights: Tensor, context: ReadContext) -> CachedPass:
        """A pass over windows, whose results are the pooled chunks (C, d) of each; zero if a window has fewer.

        A micro-batch has about as many tokens as one of `micro_batch` texts as long as a window's chunks.
        """

        def embed(text: Text, rows: Tensor) -> Tensor:
            assert not isinstance(text, Packing)
            belongs = windows.belongs(rows, text.ids.shape[1], self._device)
            with self._cast():
                states = self.model.second_stage.states(text.ids, belongs.any(1), context.keys, context.values)
            return pool_chunks(states.float(), belongs * weights[text.ids][:, None])

        shape = windows.n_chunks, self.model.config.backbone.dimension
        return CachedPass(embed, windows.tokens, Passing(self._device, windows.micro_batch(self._micro_batch), shape))

    def _passing(self) -> Passing:
        return Passing(self._device, self._micro_batch, (self.model.config.backbone.dimension,), packs=self._packs)

    def _cast(self) -> torch.autocast | nullcontext[None]:
        if self._precision == torch.float32:
            return nullcontext()
        return torch.autocast(self._device.type, self._precision)


@contextmanager
def cast_once(model: nn.Module, precision: torch.dtype) -> Iterator[None]:
    """Within the block, weights and biases of linear layers are copies in `precision`.

    Their gradients reach the parameters, where they are summed in fp32. With fp32 nothing is copied.
    """
    layers = [] if precision == torch.float32 else [m for m in model.modules() if isinstance(m, nn.Linear)]
    parameters = [dict(layer._parameters) for layer in layers]
    with torch.enable_grad():
        for layer, own in zip(layers, parameters, strict=True):
            for name, parameter in own.items():
                if parameter is not None:
                    del layer._parameters[name]
                    setattr(layer, name, parameter.to(precision))
    try:
        yield
    finally:
        for layer, own in zip(layers, parameters, strict=True):
            for name in own:
                layer.__dict__.pop(name, None)
            layer._parameters.update(own)
