"""The second stage embeds a document or query, given the context (CDE section 4.2, equations 5 and 6)."""

from collections.abc import Iterator
from itertools import repeat
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.models.backbones.attention import CachedRows, ContextAttention, Mask
from cdesearch.models.backbones.bert import Backbone, Block, additive_mask, mean_pool, pool_spans
from cdesearch.models.backbones.joint import ContextPrefix, Step, make_prefix, text_states
from cdesearch.models.backbones.joint_softmax import JointSoftmaxAttention
from cdesearch.models.backbones.packed import Packing
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.film import CorpusFilm, fold
from cdesearch.models.contextual.token_states import rarest_tokens, token_states


class SecondStage(nn.Module):
    """A backbone whose text rows attend to text and context, in one of three ways (`ModelConfig.context_attention`).

    `cached`: gated cross-attention with a softmax of its own. Context rows do not depend on the text, so their keys and
    values are computed once for each corpus. `one_softmax`: the same with one softmax over text and context. `joint`,
    as in the paper: context rows without positions precede the text in one sequence, and all rows attend to all.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d = config.backbone.dimension
        self.joint = config.context_attention == "joint"
        self.backbone = Backbone(config.backbone)
        self.null = nn.Parameter(torch.zeros(d))
        self.reads_tokens = config.context_source in ("tokens", "siblings")
        self.reads_siblings = config.context_source == "siblings"
        self._context_tokens = config.context_tokens
        self.film: CorpusFilm | None = None
        if config.context_source == "statistics":
            self.film = CorpusFilm(config.context_shape[0], config.backbone.n_layers, d)
        if config.context_source == "pooled":
            self.context_projection = nn.Linear(d, d)
            eps = config.backbone.norm_eps if config.context_norm_eps is None else config.context_norm_eps
            self.context_norm = nn.LayerNorm(d, eps)
        attends_in_no_layer = self.joint or self.film is not None
        self._context_from = config.backbone.n_layers if attends_in_no_layer else config.context_from
        n_gated = config.backbone.n_layers - self._context_from
        # The cross-attention of each gated layer; `doors` is part of the names of weights in checkpoints.
        self.doors = nn.ModuleList(_cross_attention(config) for _ in range(n_gated))
        self.can_pack = config.context_attention == "cached"  # packed kernels attend only within a text's own rows

    @property
    def layers(self) -> list[tuple[Block, ContextAttention | None]]:
        """Each block of the backbone with its cross-attention to the cached context, None for layers without it."""
        cross = [*(None for _ in range(self._context_from)), *self.doors]
        return cast("list[tuple[Block, ContextAttention | None]]", list(zip(self.backbone.blocks, cross, strict=True)))

    @property
    def cross_attention(self) -> list[ContextAttention]:
        """The cross-attention to the cached context of each layer that has it."""
        return [cross for _, cross in self.layers if cross is not None]

    @property
    def gates(self) -> list[nn.Parameter]:
        """The parameters that are all zero if the context has no effect.

        They are the gates (n_heads,) of every layer with cross-attention, before tanh, or the last layer of `film`.
        """
        if self.film is not None:
            return self.film.gates
        return [cross.gate for cross in self.cross_attention]

    @property
    def gates_are_zero(self) -> bool:
        """Whether every gate is zero, so that the context changes nothing; false for a joint model."""
        return not self.joint and not any(gate.any() for gate in self.gates)

    @property
    def reads_context(self) -> bool:
        """Whether the context changes the vectors, or may do so after a training step because gates are trained."""
        learns = self.training and torch.is_grad_enabled() and any(gate.requires_grad for gate in self.gates)
        return learns or not self.gates_are_zero

    def project_context(self, vectors: Tensor, is_null: Tensor) -> Tensor:
        """First-stage vectors (J, d) to context rows (J, d); slots where `is_null` (J,) hold the null vector."""
        vectors = torch.where(is_null[:, None], self.null.to(vectors.dtype), vectors)
        return self.context_norm(self.context_projection(vectors))  # type: ignore[no-any-return] # a module returns Any

    def token_states(self, input_ids: Tensor, attention_mask: Tensor, frequencies: Tensor) -> Tensor:
        """(B, L, r, d) states of the rarest tokens of texts (B, T) as they enter the gated layers, without context.

        `frequencies` (V,) are the document frequencies of all tokens of the vocabulary.
        """
        at = rarest_tokens(input_ids, attention_mask, frequencies, self._context_tokens)
        return token_states(self.backbone, self._context_from, input_ids, attention_mask, at)

    def cache(self, context: Tensor, is_null: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the context in the gated layers.

        They are (L, J, d) from first-stage vectors (J, d), and (L, J * r, d) from token states (J, L, r, d).
        """
        return self._cache_tokens(context, is_null) if self.reads_tokens else self._cache_vectors(context, is_null)

    def sibling_bias(self, allowed: Tensor) -> Tensor:
        """(L, B, 1, 1, n * r) bias for the scores with which each text reads only the siblings that it may read.

        `allowed` (B, n) marks them. The keys and values of the n siblings are (L, n * r, d).
        """
        bias = additive_mask(allowed.repeat_interleave(self._context_tokens, dim=1), torch.float32)
        return bias.expand(len(self.doors), *bias.shape)

    def folded_norms(self, features: Tensor) -> Tensor:
        """(n_layers, 2, d) weight and bias of each layer's norm in a corpus with these statistics (1, F)."""
        assert self.film is not None
        return fold(self.film(features[0]), [cast("Block", block).norm for block in self.backbone.blocks])

    def _cache_tokens(self, states: Tensor, is_null: Tensor) -> tuple[Tensor, Tensor]:
        states = torch.where(is_null[:, None, None, None], self.null.to(states.dtype), states)
        blocks = self.backbone.blocks[self._context_from :]
        made = [
            cast("Block", block).attention.key_value(of_layer.flatten(0, 1))
            for block, of_layer in zip(blocks, states.unbind(1), strict=True)
        ]
        keys, values = zip(*made, strict=True)
        return torch.stack(keys), torch.stack(values)

    def _cache_vectors(self, vectors: Tensor, is_null: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.project_context(vectors, is_null)[None]
        keys, values = [], []
        for block, cross in self.layers:
            if cross is not None:
                assert cross.key_value is not None
                key, value = cross.key_value(rows[0]).chunk(2, dim=-1)
                keys.append(key)
                values.append(value)
            rows = block(rows, None)
        return torch.stack(keys), torch.stack(values)

    def states(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        keys: Tensor | None,
        values: Tensor | None,
        bias: Tensor | None = None,
        norms: Tensor | None = None,
    ) -> Tensor:
        """(B, T, d) text states with cached keys and values (L, J, d) of a context; None: as the plain biencoder.

        Without a mask no text is padded. `bias` is added to the scores of the context: (L, n_heads, 1, J), or the
        result of `sibling_bias`. `norms` (n_layers, 2, d) are the result of `folded_norms`.
        """
        rows = self.backbone.embed(input_ids)
        mask = None if attention_mask is None else additive_mask(attention_mask, rows.dtype)
        return self._through(rows, mask, _by_layer(keys, values, bias), norms)

    def states_at(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        positions: Tensor | None,
        keys: Tensor | None,
        values: Tensor | None,
    ) -> Tensor:
        """(B, T, d) like `states`, with the `positions` (B, T) or (T,) of the tokens; None: 0 ... T - 1."""
        rows = self.backbone.embed(input_ids, positions)
        mask = None if attention_mask is None else additive_mask(attention_mask, rows.dtype)
        return self._through(rows, mask, _by_layer(keys, values), None)

    def packed_states(
        self,
        packing: Packing,
        keys: Tensor | None,
        values: Tensor | None,
        bias: Tensor | None = None,
        norms: Tensor | None = None,
    ) -> Tensor:
        """(1, N, d) states of packed texts with cached keys and values (L, J, d) of a context, or `norms`.

        `bias` (L, B, 1, 1, J) is the result of `sibling_bias` for the texts.
        """
        rows = self.backbone.embed(packing.ids, packing.positions)
        if bias is not None:
            bias = bias[:, packing.text].transpose(1, 3)
        return self._through(rows, packing, _by_layer(keys, values, bias), norms)

    def _through(self, rows: Tensor, mask: Mask, cached: Iterator[CachedRows], norms: Tensor | None) -> Tensor:
        for number, (block, cross) in enumerate(self.layers):
            of_layer = next(cached, None) if cross is not None else None
            context = None if cross is None or of_layer is None else (cross, of_layer)
            rows = block(rows, mask, context, None if norms is None else norms[number])
        return rows

    def context_prefix(self, vectors: Tensor, is_null: Tensor) -> ContextPrefix:
        """The J rows that precede every text in a joint model, from first-stage vectors (J, d)."""
        return make_prefix(self.project_context(vectors, is_null), self.layers[0][0])

    def joint_states(self, input_ids: Tensor, attention_mask: Tensor, vectors: Tensor, is_null: Tensor) -> Tensor:
        """(B, T, d) text states with the context's J rows in the same sequence."""
        return self.states_after(input_ids, attention_mask, self.context_prefix(vectors, is_null))

    def states_after(self, input_ids: Tensor, attention_mask: Tensor, prefix: ContextPrefix) -> Tensor:
        """(B, T, d) text states after a prefix, which `context_prefix` makes once for all batches."""
        text = self.backbone.embed(input_ids)
        ones = attention_mask.new_ones(text.shape[0], prefix.rows.shape[1])
        mask = additive_mask(torch.cat([ones, attention_mask], dim=1), text.dtype)
        steps: list[Step] = [(block, mask, None) for block, _ in self.layers]
        return text_states(prefix, text, steps)


def _cross_attention(config: ModelConfig) -> ContextAttention:
    d, n_heads = config.backbone.dimension, config.backbone.n_heads
    if config.context_attention == "one_softmax":
        return JointSoftmaxAttention(d, n_heads, log_gates=config.log_gates)
    own_projections = config.context_source == "pooled"
    return ContextAttention(d, n_heads, sink=config.context_sink, own_projections=own_projections)


def _by_layer(keys: Tensor | None, values: Tensor | None, bias: Tensor | None = None) -> Iterator[CachedRows]:
    """What each gated layer reads of a context, from keys and values (L, J, d) and a bias whose first axis is L."""
    if keys is None or values is None:
        return iter(())
    return zip(keys, values, repeat(None) if bias is None else bias)  # noqa: B905 (`repeat` has no end)


def read_out(states: Tensor, weights: Tensor, shift: Tensor, projection: Tensor) -> tuple[Tensor, Tensor]:
    """Pooled (B, d) and final unit vectors (B, d) of text `states` (B * S, T, d); `weights` (B, S, T)."""
    pooled = pool_spans(mean_pool(states, weights.flatten(0, 1)), weights)
    return pooled, statistics_head(pooled, shift, projection)


def statistics_head(pooled: Tensor, shift: Tensor, projection: Tensor) -> Tensor:
    """Whitened unit vectors (B, n): `pooled` (B, d) normalised, minus `shift` (d,), times `projection` (d, n)."""
    whitened = (functional.normalize(pooled, dim=-1) - shift) @ projection
    return functional.normalize(whitened, dim=-1)
