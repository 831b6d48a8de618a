"""A batch of any size in the memory of a micro-batch: the two-stage gradient cache (CDE section 4.2).

    (a) first stage over the context, no gradient          (d) second stage again, with gradient, onto the parameters
    (b) second stage over queries and documents, the same      and onto the context (cached: its keys and values)
    (c) loss, and its gradient at the pooled vectors       (e) context pass and first stage again, from that gradient

Every forward pass that is repeated replays its random state, so dropout is the same both times. The first
micro-batches of context and documents, the longest, are not repeated: their graphs wait. On several processes
each embeds its own share of the texts; vectors are gathered, and gradients summed, so that all take the same step.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cdesearch.models.backbones.bert import mean_pool
from cdesearch.models.backbones.packed import has_kernel, pack_texts, packed_mean
from cdesearch.models.contextual.model import ContextualModel
from trainer.data.batch import Batch, Tokens
from trainer.run.distributed import gather, same_seed, share, total, world
from trainer.step.loss import Verdict
from trainer.step.memory import give_back
from trainer.step.whitening_head import StatisticsHead

TIDY_EVERY = 4  # micro-batches; each leaves holes of its own length where it was

Judge = Callable[[Tensor, Tensor, Tensor], Verdict]  # pooled queries, documents and context to the loss


@dataclass(frozen=True, slots=True)
class _Piece:
    """A micro-batch and the random state that it began with."""

    places: Tensor
    tokens: Tokens
    state: tuple[Tensor, Tensor | None]
    graph: Tensor | None = None  # the output with its graph, where that was kept


class GradCache:
    """Puts the gradient of one batch on the parameters of a model and its statistics head."""

    def __init__(
        self,
        model: ContextualModel,
        head: StatisticsHead,
        micro_batch: int,
        *,
        freeze_first_stage: bool = False,
        precision: torch.dtype = torch.float32,
    ) -> None:
        self._model = model
        self._head = head
        self._micro_batch = micro_batch
        self._freeze_first_stage = freeze_first_stage
        self._precision = precision
        self._device = next(model.parameters()).device
        stage = model.second_stage
        self._reads_context = stage.joint or not stage.gates_closed or any(gate.requires_grad for gate in stage.gates)
        # Rows that hold the context beside each text differ in length by a short tail alone: they need no packing.
        self._packs = stage.can_pack and has_kernel(torch.empty(0, dtype=precision, device=self._device))

    def step(self, batch: Batch, token_weights: Callable[[], Tensor], judge: Judge) -> Verdict:
        """Add the batch's gradient to `.grad`; returns the loss. `token_weights` gives (V,) from the head, anew."""
        vectors, context_seen = self._first_stage(batch)  # (a)
        leaf = vectors.requires_grad_()
        held = self._hold_context(leaf, batch.is_null)

        def second_stage(tokens: Tokens) -> Tensor:
            return self._pooled(tokens, token_weights(), held)

        queries, queries_seen = self._run(batch.queries, second_stage, keep=False)  # (b)
        documents, documents_seen = self._run(batch.documents, second_stage, keep=True)
        queries, documents = queries.requires_grad_(), documents.requires_grad_()
        verdict = judge(queries, documents, documents[batch.context])  # (c)
        (verdict.loss / world()).backward()
        self._tidy()
        for whole, pieces in ((documents, documents_seen), (queries, queries_seen)):  # (d)
            assert whole.grad is not None
            self._replay(pieces, whole.grad.mul_(world()), second_stage)
        held.backward()
        if leaf.grad is not None and not self._freeze_first_stage:  # (e)
            self._replay(context_seen, total(leaf.grad), self._first_stage_vectors)
        return verdict

    def sum_gradients(self) -> None:
        """Add up what every process has found; afterwards all hold the gradient of the whole batch.

        What the batch did not touch has gradient zero, on one process as on many.
        """
        for parameter in [*self._model.parameters(), *self._head.parameters()]:
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                total(parameter.grad)

    def _first_stage(self, batch: Batch) -> tuple[Tensor, list[_Piece]]:
        """First-stage vectors (J, d) without gradient; zeros where no slot shows them."""
        context = batch.documents.take(batch.context)
        if not batch.is_contextual or not self._reads_context:
            return torch.zeros(len(context), self._model.config.backbone.dimension, device=self._device), []
        return self._run(context, self._first_stage_vectors, keep=not self._freeze_first_stage)

    def _hold_context(self, vectors: Tensor, is_null: Tensor) -> "_Held":
        is_null = is_null.to(self._device)
        if self._model.second_stage.joint or not self._reads_context:
            return _Held(vectors, is_null)
        with _same_random_state(self._device), self._cast():
            keys, values = self._model.second_stage.cache(vectors, is_null)
        return _Held(vectors, is_null, (keys, values))

    def _run(self, texts: Tokens, network: Callable[[Tokens], Tensor], *, keep: bool) -> tuple[Tensor, list[_Piece]]:
        """All processes' vectors (n, d) without gradient; with `keep`, the graph of the longest piece waits."""
        mine = share(len(texts))
        vectors = torch.empty(mine.stop - mine.start, self._model.config.backbone.dimension, device=self._device)
        parts = texts.micro_batches(mine, self._micro_batch)
        # All that outlives a micro-batch has its place before the first: small blocks between freed ones pin the heap.
        pieces = [
            _Piece(places.to(self._device), part.to(self._device), _random_state(self._device))
            for places, part in parts
        ]
        for number, piece in enumerate(pieces):
            for kept, now in zip(piece.state, _random_state(self._device), strict=True):
                if kept is not None and now is not None:
                    kept.copy_(now)
            with torch.set_grad_enabled(keep and number == 0):
                made = network(piece.tokens)
            vectors[piece.places] = made.detach()
            if made.requires_grad:
                pieces[number] = replace(piece, graph=made)
            self._tidy(number)
        return gather(vectors), pieces

    def _replay(self, pieces: Sequence[_Piece], gradient: Tensor, network: Callable[[Tokens], Tensor]) -> None:
        """Backward through every piece, from the gradient (n, d) at all processes' vectors."""
        mine = gradient[share(len(gradient))]
        for number, piece in enumerate(pieces):
            made = piece.graph
            if made is None:
                with _replayed(piece.state, self._device):
                    made = network(piece.tokens)
            made.backward(mine[piece.places])
            self._tidy(number)

    def _tidy(self, number: int = 0) -> None:
        """After micro-batch `number`; the first holds the most."""
        if self._device.type == "cpu" and number % TIDY_EVERY == 0:
            give_back()

    def _first_stage_vectors(self, tokens: Tokens) -> Tensor:
        """(B, d)."""
        with self._cast():
            return self._model.first_stage(tokens.ids, tokens.mask).float()

    def _pooled(self, tokens: Tokens, weights: Tensor, held: "_Held") -> Tensor:
        """(B, d) vectors before the statistics head."""
        stage = self._model.second_stage
        if self._packs:
            packing = pack_texts(tokens.ids, tokens.mask)
            with self._cast():
                states = stage.packed_states(packing, held.keys, held.values)
            return packed_mean(states.float(), weights[packing.ids[0]], packing)
        with self._cast():
            if stage.joint:
                states = stage.joint_states(tokens.ids, tokens.mask, held.vectors, held.is_null)
            else:
                states = stage.states(tokens.ids, tokens.mask, held.keys, held.values)
        return mean_pool(states.float(), weights[tokens.ids] * tokens.mask)

    def _cast(self) -> torch.autocast | nullcontext[None]:
        if self._precision == torch.float32:
            return nullcontext()
        return torch.autocast(self._device.type, self._precision)


class _Held:
    """The context as the second stage reads it: leaves that collect gradients, and the graph that made them."""

    def __init__(self, vectors: Tensor, is_null: Tensor, made: tuple[Tensor, Tensor] | None = None) -> None:
        self.vectors = vectors  # (J, d)
        self.is_null = is_null
        self._made = made
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        if made is not None:
            self.keys, self.values = (part.detach().requires_grad_() for part in made)

    def backward(self) -> None:
        """Carry what the leaves collected through the context pass, onto its parameters and the vectors."""
        if self._made is None:
            return
        leaves = [leaf for leaf in (self.keys, self.values) if leaf is not None]
        collected = [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
        torch.autograd.backward(list(self._made), collected)


def _random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if device.type == "cuda" else None


class _replayed:  # noqa: N801 (a context manager)
    """Run with an earlier random state, then go on with the present one."""

    def __init__(self, state: tuple[Tensor, Tensor | None], device: torch.device) -> None:
        self._state = state
        self._device = device

    def __enter__(self) -> None:
        self._now = _random_state(self._device)
        self._set(self._state)

    def __exit__(self, *_: object) -> None:
        self._set(self._now)

    def _set(self, state: tuple[Tensor, Tensor | None]) -> None:
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state(state[1], self._device)


def _same_random_state(device: torch.device) -> "_replayed | nullcontext[None]":
    """On several processes the context pass, which all repeat, must drop the same rows in each."""
    if world() == 1:
        return nullcontext()
    generator = torch.Generator().manual_seed(same_seed(device))
    return _replayed((generator.get_state(), None), device)
