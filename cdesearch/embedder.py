"""The model alone, for programs that keep vectors elsewhere."""

from collections.abc import Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path

import numpy as np

from cdesearch.context import Context, Floats
from cdesearch.encoder import Device, Encoder, Role, load_encoder
from cdesearch.errors import InputError

ROLES: dict[str, Role] = {"query": "query", "document": "document"}


class Embedder:
    """Texts to vectors in the context of a corpus; called like a SentenceTransformer.

    embedder = Embedder()
    corpus = embedder.sample_context(documents)
    vectors = embedder.encode(documents, prompt_name="document", dataset_embeddings=corpus)
    query = embedder.encode("how is it done", prompt_name="query", dataset_embeddings=corpus)
    """

    def __init__(self, model: str | PathLike[str] | None = None, device: Device = "auto") -> None:
        """Open a checkpoint, a folder or an id of the hub, or the model that ships; raises ModelError."""
        self.encoder: Encoder = load_encoder(None if model is None else Path(model), device)

    def sample_context(self, texts: Sequence[str], size: int | None = None, seed: int = 0) -> Context:
        """What the second stage knows of a corpus: a sample of at most `size` texts, and the tokens of all.

        Raises InputError where there are no texts.
        """
        _check_texts(texts)
        if not len(texts):
            raise InputError("A context needs texts.", "Give the texts of your corpus, or a sample of some thousands.")
        n = min(size or self.encoder.context_size, len(texts))
        rows = sorted(np.random.default_rng(seed).choice(len(texts), n, replace=False).tolist())
        sampled = [texts[row] for row in rows]
        hashes = [blake2b(text.encode(), digest_size=16).hexdigest() for text in sampled]
        vectors = self.encoder.context_vectors(sampled)
        frequencies = self.encoder.count_tokens(texts)
        return self.encoder.make_context([str(row) for row in rows], hashes, sampled, vectors, frequencies, seed)

    def encode(
        self,
        sentences: str | Sequence[str],
        prompt_name: str = "document",
        dataset_embeddings: Context | None = None,
    ) -> Floats:
        """(n, d) unit vectors, or (d,) of one text; `prompt_name` is query or document. Without context: the null one.

        Raises InputError.
        """
        if prompt_name not in ROLES:
            raise InputError(f"There is no prompt {prompt_name}.", "Use query or document.")
        one = isinstance(sentences, str)
        if not one:
            _check_texts(sentences)
        if dataset_embeddings is not None and not isinstance(dataset_embeddings, Context):
            raise InputError(
                f"A context of type {type(dataset_embeddings).__name__} is none.", "Give what sample_context returns."
            )
        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        vectors = self.encoder.encode(texts, ROLES[prompt_name], dataset_embeddings)
        return vectors[0] if one else vectors

    def similarity(self, one: Floats, other: Floats) -> Floats:
        """Cosines of two sets of vectors, (n, m)."""
        cosines: Floats = np.atleast_2d(one) @ np.atleast_2d(other).T
        return cosines

    def get_sentence_embedding_dimension(self) -> int:
        """d."""
        return self.encoder.dimension


def _check_texts(texts: Sequence[str]) -> None:
    """Raise InputError for what is no sequence of texts: one text alone would be taken for its letters."""
    if isinstance(texts, str) or not hasattr(texts, "__len__") or not all(isinstance(text, str) for text in texts):
        raise InputError("What is given is no list of texts.", "Give a list of str.")
