"""A model on a server as an encoder."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.context import EncodingContext
from cdesearch.context.head import Role
from cdesearch.context.vectors import Floats, to_unit
from cdesearch.encode.backends.endpoint import ASKING, BUILDING, EmbeddingServer, Endpoint
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.length_batches import Integers
from cdesearch.encode.token_signs import QueryTokens
from cdesearch.models.config import (
    BackboneConfig,
    ModelConfig,
    fingerprint_with_added_context,
    published_config,
    with_added_context,
)
from cdesearch.models.endpoint_model import EndpointModel

# Longer documents are divided. Many models read 512 tokens, but the server's tokenizer is unknown and may make a third
# more of them than that of the default model, which is used instead.
MAX_TOKENS = 384
# The runtime of an encoder whose networks are elsewhere. The server knows no context.
NO_NETWORKS: Any = SimpleNamespace(
    workers=1, reads_context=False, precision="remote", cpu_network=None, cache=lambda *_: None
)
SAME_MODEL = 0.999  # least cosine of the vectors of a probe, which leaves room for rounding on other hardware

# Texts whose vectors show whether the model behind a name is still the same. Other texts would make every index that
# exists seem to have been built by another model.
PROBES = (
    "How do I reset my password?",
    "The river carries stones and sand from the mountains to the sea.",
    "def mean(values): return sum(values) / len(values)",
    "Der Vertrag endet am 31. Dezember 2024; Artikel 7 gilt weiter.",
    "42",
)


class RemoteEncoder(Encoder):
    """A model on a server, ready to be asked.

    The tokenizer of the default model measures texts and counts words, because that of the server is unknown.
    """

    def __init__(
        self, config: ModelConfig, tokenizer: Tokenizer, fingerprint: str, endpoint: Endpoint, probes: Floats
    ) -> None:
        super().__init__(config, tokenizer, NO_NETWORKS, fingerprint)
        self.probes = probes
        self._endpoint = endpoint

    def stream(
        self, texts: Sequence[str], role: Role, context: EncodingContext | None
    ) -> Iterator[tuple[Integers, Floats, list[bytes]]]:
        """The vectors of parts of `texts` as the server sends them, with their indices; raises ModelServerError."""
        context = context or self._null
        prefix = self._tokens.prefix(role)
        patience = ASKING if role == "query" else BUILDING
        for indices, vectors in self._endpoint.embed([prefix + text for text in texts], patience):
            yield indices, self.second_stage(vectors, role, context), [b""] * len(indices)

    def encode_queries(
        self, texts: Sequence[str], context: EncodingContext | None
    ) -> tuple[Floats, list[QueryTokens | None]]:
        return self.encode(texts, "query", context), [None] * len(texts)

    def truncates(self, text: str, role: Role) -> bool:  # noqa: ARG002 (only the server knows)
        return False


def open_remote(model: EndpointModel, tokenizer: Tokenizer, *, plain: bool) -> RemoteEncoder:
    """Ask a server for the vectors of the probes, which also show their dimension; raises InputError, ModelServerError.

    `tokenizer` is that of the default model. The corpus changes the vectors of the server, unless the model is `plain`.
    """
    endpoint = Endpoint(EmbeddingServer.of(model.url, model.name))
    found: dict[int, Floats] = {}
    for indices, vectors in endpoint.embed(PROBES, ASKING):
        found |= zip(indices.tolist(), vectors, strict=True)
    probes = np.stack([found[number] for number in range(len(PROBES))])
    backbone = BackboneConfig(tokenizer.get_vocab_size(), probes.shape[1], 1, 1, 1, MAX_TOKENS)
    query, document = model.prefixes
    config = published_config(backbone, max_tokens=MAX_TOKENS, query_prefix=query, document_prefix=document)
    named = json.dumps([model.name, *model.prefixes])  # without the URL: the server may move
    fingerprint = hashlib.blake2b(f"endpoint {named}".encode(), digest_size=16).hexdigest()
    if not plain:
        config, fingerprint = with_added_context(config), fingerprint_with_added_context(fingerprint)
    return RemoteEncoder(config, tokenizer, fingerprint, endpoint, probes)


def is_same_model(one: Floats, other: Floats) -> bool:
    """Whether the vectors (n, d) of the probes are those of the same model, up to rounding."""
    return one.shape == other.shape and float((to_unit(one) * to_unit(other)).sum(axis=1).min()) >= SAME_MODEL
