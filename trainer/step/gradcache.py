"""The two-stage gradient cache (CDE section 4.2): a batch of any size in the memory of a micro-batch.

    (a) first stage over the context, no gradient          (d) second stage again, with gradient, onto the parameters
    (b) second stage over queries and documents, the same      and onto the context (cached: its keys and values)
    (c) loss, and its gradient at the pooled vectors       (e) context pass and first stage again, from that gradient

Each network runs over its texts as a `CachedPass`, which repeats it with the same random states. With several
processes, each encodes a part of the texts. Vectors are gathered and gradients are summed, so that all processes take
the same step.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import Tensor, nn

from cdesearch.models.backbones.bert import mean_pool, pool_chunks
from cdesearch.models.backbones.packed import Packing, has_kernel, packed_mean
from cdesearch.models.contextual.model import ContextualModel
from trainer.data.training_batch import Batch, Windows, sent
from trainer.execution.distributed import alone, total, world
from trainer.loss.contrastive import LossOutput
from trainer.loss.token_weights import context_frequencies, features_of
from trainer.loss.whitening_head import WhiteningHead
from trainer.step.cached_pass import CachedPass, Network, Passing, Text
from trainer.step.cast_once import cast_once
from trainer.step.memory import release_freed_memory
from trainer.step.prepared_context import PreparedContext
from trainer.step.random_state import same_random_state

LossFn = Callable[[Tensor, Tensor, Tensor], LossOutput]  # from pooled queries, documents and context to the loss


class GradCache:
    """Adds the gradient of one batch to the parameters of a model and of its whitening."""

    def __init__(
        self,
        model: ContextualModel,
        head: WhiteningHead,
        micro_batch: int,
        *,
        freeze_first_stage: bool = False,
        precision: torch.dtype = torch.float32,
        kept_graphs: int = 1,
        own_batches: bool = False,
    ) -> None:
        """Prepare the cache for `model` and `head`, with micro-batches of `micro_batch` texts.

        `kept_graphs` micro-batches of context, of documents and of queries each are not computed a second time. With
        `own_batches`, each process has a batch of its own, and its documents are negatives of its own queries alone.
        """
        self._model = model
        self._head = head
        self._micro_batch = micro_batch
        self._freeze_first_stage = freeze_first_stage
        self._precision = precision
        self._kept_graphs = kept_graphs
        self._own_batches = own_batches
        self._device = next(model.parameters()).device
        stage = model.second_stage
        self._reads_context = stage.joint or not stage.gates_are_zero or any(gate.requires_grad for gate in stage.gates)
        # Without dropout nothing is drawn, and the processes need not agree on a seed, which would make the host wait.
        self._has_dropout = any(module.p > 0 for module in model.modules() if isinstance(module, nn.Dropout))
        # In joint models every row begins with the whole context, so lengths differ little and packing gains nothing.
        self._packs = stage.can_pack and has_kernel(torch.empty(0, dtype=precision, device=self._device))

    def step(self, batch: Batch, token_weights: Callable[[], Tensor], loss_fn: LossFn) -> LossOutput:
        """Add the batch's gradient to `.grad`; returns the loss. `token_weights` computes (V,) from the head."""
        with cast_once(self._model, self._precision), alone() if self._own_batches else nullcontext():
            output = self._step(batch, token_weights, loss_fn)
        if self._own_batches and world() > 1:
            return LossOutput(*(total(figure.detach() / world()) for figure in (output.loss, output.accuracy)))
        return output

    def _step(self, batch: Batch, token_weights: Callable[[], Tensor], loss_fn: LossFn) -> LossOutput:
        made_weights = token_weights()
        weights = made_weights.detach().requires_grad_(made_weights.requires_grad)
        embed_context = self._context_network(batch)
        vectors, context_pass = self._first_stage(batch, embed_context)  # (a)
        leaf = vectors.requires_grad_()
        prepared = self._prepare_context(leaf, batch.is_null)

        siblings = self._siblings(batch)
        # Queries have no siblings, so they read nothing where documents read theirs.
        of_corpus = prepared if siblings is None else PreparedContext(vectors, prepared.is_null)

        def embed_query(text: Text, _: Tensor) -> Tensor:
            return self._pooled(text, weights, of_corpus)

        def embed_document(text: Text, rows: Tensor) -> Tensor:
            return self._pooled(text, weights, prepared, None if siblings is None else siblings[rows])

        passing = self._passing(self._kept_graphs, packs=self._packs)
        query_pass = CachedPass(embed_query, batch.queries, passing)  # (b)
        if batch.windows is None:
            document_pass = CachedPass(embed_document, batch.documents, passing)
        else:
            document_pass = self._window_pass(batch.windows, weights, prepared)
        queries, documents = (one.vectors.requires_grad_() for one in (query_pass, document_pass))
        if batch.windows is not None:
            documents = documents.flatten(0, 1)[sent(batch.windows.at, self._device)]
        output = loss_fn(queries, documents, documents[sent(batch.context, self._device)])  # (c)
        (output.loss / world()).backward()
        if self._device.type == "cpu":
            release_freed_memory()
        for one in (document_pass, query_pass):  # (d)
            assert one.vectors.grad is not None
            one.replay(one.vectors.grad.mul_(world()))
        if weights.grad is not None:
            made_weights.backward(weights.grad)
        prepared.backward()
        if leaf.grad is not None and context_pass is not None and not self._freeze_first_stage:  # (e)
            context_pass.replay(total(leaf.grad))
        return output

    def sum_gradients(self) -> None:
        """Sum the gradients of all processes, so that each has that of the whole batch, or the mean of all batches.

        Parameters that the batch did not use have gradient zero, with one process and with several.
        """
        for parameter in [*self._model.parameters(), *self._head.parameters()]:
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                total(parameter.grad.div_(world()) if self._own_batches else parameter.grad)

    def _window_pass(self, windows: Windows, weights: Tensor, prepared: PreparedContext) -> CachedPass:
        """A pass over windows, whose results are the pooled chunks (C, d) of each; zero if a window has fewer.

        A micro-batch has about as many tokens as one of `micro_batch` texts as long as a window's chunks.
        """

        def embed(text: Text, rows: Tensor) -> Tensor:
            assert not isinstance(text, Packing)
            belongs = windows.belongs(rows, text.ids.shape[1], self._device)
            with self._cast():
                states = self._model.window_states(text.ids, belongs, prepared.keys, prepared.values)
            return pool_chunks(states.float(), belongs * weights[text.ids][:, None])

        shape = windows.n_chunks, self._model.config.backbone.dimension
        passing = self._passing(self._kept_graphs, packs=False, shape=shape)
        return CachedPass(embed, windows.tokens, replace(passing, micro_batch=windows.micro_batch(self._micro_batch)))

    def _siblings(self, batch: Batch) -> Tensor | None:
        """(D, D) true where a document of the batch reads another one; None if the model does not read siblings."""
        if not self._model.second_stage.reads_siblings or not batch.is_contextual or not self._reads_context:
            return None
        return sent(batch.sibling_mask, self._device)

    def _first_stage(self, batch: Batch, network: Network) -> tuple[Tensor, CachedPass | None]:
        """What the second stage reads of the context (J, *context_shape), without gradient; zeros if nothing reads it.

        Most models read first-stage vectors (J, d). Statistics (1, F) never get a gradient, as in the whitening.
        """
        context = batch.documents if self._model.second_stage.reads_siblings else batch.context_texts
        shape = self._model.config.context_shape
        if not batch.is_contextual or not self._reads_context:
            return torch.zeros(len(context), *shape, device=self._device), None
        n_kept = 0 if self._freeze_first_stage else self._kept_graphs
        packs = self._packs and not self._model.second_stage.reads_tokens
        if self._model.second_stage.film is not None:
            vectors = CachedPass(network, context, self._passing(0, packs=packs)).vectors
            frequencies = context_frequencies(batch, self._model.config.backbone.vocabulary)
            return features_of(vectors[sent((~batch.is_null).nonzero()[:, 0], self._device)], frequencies), None
        made = CachedPass(network, context, self._passing(n_kept, packs=packs, shape=shape))
        return made.vectors, made

    def _passing(self, n_kept: int, *, packs: bool, shape: tuple[int, ...] | None = None) -> Passing:
        """How texts pass through a stage; the result of one text is a vector (d,) unless `shape` is given."""
        shape = shape or (self._model.config.backbone.dimension,)
        return Passing(self._device, self._micro_batch, shape, n_kept, packs)

    def _prepare_context(self, vectors: Tensor, is_null: Tensor) -> PreparedContext:
        all_null = bool(is_null.all())  # computed on the host, which must not wait for the device
        is_null = sent(is_null, self._device)
        if self._model.second_stage.joint or not self._reads_context:
            return PreparedContext(vectors, is_null)
        stage = self._model.second_stage
        if (stage.film is not None or stage.reads_siblings) and all_null:
            return PreparedContext(vectors, is_null)
        if stage.reads_siblings:  # a document reads all of its siblings, so no slot is null
            is_null = torch.zeros(len(vectors), dtype=torch.bool, device=self._device)
        with same_random_state(self._device) if self._has_dropout else nullcontext(), self._cast():
            if stage.film is not None:
                return PreparedContext(vectors, is_null, norms=stage.folded_norms(vectors))
            keys, values = stage.cache(vectors, is_null)
        return PreparedContext(vectors, is_null, (keys, values))

    def _context_network(self, batch: Batch) -> Network:
        """The network that computes what the second stage reads of texts of the context, (B, *context_shape)."""
        frequencies = torch.empty(0)
        if self._model.second_stage.reads_tokens and batch.is_contextual:
            frequencies = context_frequencies(batch, self._model.config.backbone.vocabulary).to(self._device)

        def embed(text: Text, _: Tensor) -> Tensor:
            with self._cast():
                if isinstance(text, Packing):
                    return self._model.packed_first_stage(text).float()
                return self._model.context_states(text.ids, text.mask, frequencies).float()

        return embed

    def _pooled(self, text: Text, weights: Tensor, prepared: PreparedContext, siblings: Tensor | None = None) -> Tensor:
        """(B, d) vectors before whitening; `siblings` (B, D) marks the documents that each text reads."""
        stage = self._model.second_stage
        bias = None if siblings is None else stage.sibling_bias(siblings)
        if isinstance(text, Packing):
            with self._cast():
                states = stage.packed_states(text, prepared.keys, prepared.values, bias, prepared.norms)
            return packed_mean(states.float(), weights[text.ids[0]], text)
        with self._cast():
            if stage.joint:
                states = stage.joint_states(text.ids, text.mask, prepared.vectors, prepared.is_null)
            else:
                states = stage.states(text.ids, text.mask, prepared.keys, prepared.values, bias, prepared.norms)
        return mean_pool(states.float(), weights[text.ids] * text.mask)

    def _cast(self) -> torch.autocast | nullcontext[None]:
        if self._precision == torch.float32:
            return nullcontext()
        return torch.autocast(self._device.type, self._precision)
