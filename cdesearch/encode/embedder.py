"""The model without an index, for programs that store vectors themselves."""

from collections.abc import Sequence
from hashlib import blake2b
from os import PathLike
from pathlib import Path

import numpy as np

from cdesearch.context.context import Context
from cdesearch.context.head import Role
from cdesearch.context.sample import COUNTED_TEXTS, FITTED_TEXTS, choose_chunks
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import Device, check_plain_model, load_encoder
from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import DEFAULT_NAME, SHORT_NAMES

ROLES: dict[str, Role] = {"query": "query", "document": "document"}


def context_of_texts(encoder: Encoder, texts: Sequence[str], size: int, seed: int) -> Context:
    """A sample of at most `size` texts, and a whitening fitted to at most FITTED_TEXTS, which are encoded for it.

    The chunk ids are positions in `texts`. Each text counts as a document of its own.
    """
    hashes = [blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest() for text in texts]
    triples = [(str(position), str(position), content) for position, content in enumerate(hashes)]
    ids = choose_chunks(triples, size, seed)
    fitted_ids = choose_chunks(triples, FITTED_TEXTS, seed)
    one_in = -(-len(texts) // COUNTED_TEXTS)
    counted = [text for text, content in zip(texts, hashes, strict=True) if int(content[:8], 16) % one_in == 0]
    frequencies = encoder.count_tokens(counted)
    states = encoder.context_vectors([texts[int(chunk)] for chunk in ids])
    sample = encoder.make_sample(ids, [hashes[int(chunk)] for chunk in ids], states, frequencies, seed)
    pooled = encoder.encode([texts[int(chunk)] for chunk in fitted_ids], "document", sample)
    fitted = encoder.fit(sample, [hashes[int(chunk)] for chunk in fitted_ids], pooled)
    rows = {chunk: row for row, chunk in enumerate(fitted_ids)}  # contains `ids`, a smaller sample by the same seed
    sampled = pooled[[rows[chunk] for chunk in ids]]
    return Context.of(fitted, encoder.second_stage(sampled, "document", fitted))


class Embedder:
    """Encodes texts in the context of a corpus. Its methods are named like those of a SentenceTransformer.

    embedder = Embedder()
    corpus = embedder.sample_context(documents)
    vectors = embedder.encode(documents, prompt_name="document", dataset_embeddings=corpus)
    query = embedder.encode("how is it done", prompt_name="query", dataset_embeddings=corpus)
    """

    def __init__(
        self, model: str | PathLike[str] | None = None, device: Device = "auto", *, plain: bool = False
    ) -> None:
        """Open a checkpoint folder, an id on the hub, or for None or "default" the model that ships.

        Statistics of the corpus are added to a published model, unless it is `plain`. Raises ModelError, InputError.
        """
        model = SHORT_NAMES.get(model, model) if isinstance(model, str) else model
        named = None if model in (None, DEFAULT_NAME) else Path(model)
        if plain:
            check_plain_model(named)
        self.encoder: Encoder = load_encoder(named, device, plain=plain)

    def sample_context(self, texts: Sequence[str], size: int | None = None, seed: int = 0) -> Context:
        """The context of a corpus: a sample of at most `size` of its texts, and a whitening.

        The whitening is fitted to all texts, or to some thousands of a larger corpus, which are encoded for it. Raises
        InputError if there are no texts.
        """
        _check_texts(texts)
        if not len(texts):
            raise InputError("A context needs texts.", "Give the texts of your corpus, or a sample of some thousands.")
        return context_of_texts(self.encoder, texts, size or self.encoder.context_size, seed)

    def encode(
        self, sentences: str | Sequence[str], prompt_name: str = "document", dataset_embeddings: Context | None = None
    ) -> Floats:
        """(n, d) unit vectors of a list of texts, or (d,) of one text. `prompt_name` is "query" or "document".

        `dataset_embeddings` is a context that `sample_context` returned; None is the null context. Raises InputError.
        """
        if prompt_name not in ROLES:
            raise InputError(f"There is no prompt {prompt_name}.", "Use query or document.")
        texts = [sentences] if isinstance(sentences, str) else sentences
        _check_texts(texts)
        if dataset_embeddings is not None and not isinstance(dataset_embeddings, Context):
            raise InputError(
                f"The context is of type {type(dataset_embeddings).__name__}.", "Give what sample_context returns."
            )
        vectors = self.encoder.encode(list(texts), ROLES[prompt_name], dataset_embeddings)
        return vectors[0] if isinstance(sentences, str) else vectors

    def similarity(self, one: Floats, other: Floats) -> Floats:
        """(n, m) cosines of unit vectors (n, d) and (m, d); one vector (d,) counts as a set of one."""
        cosines: Floats = np.atleast_2d(one) @ np.atleast_2d(other).T
        return cosines

    def get_sentence_embedding_dimension(self) -> int:
        """The number of dimensions of every vector."""
        return self.encoder.dimension


def _check_texts(texts: Sequence[str]) -> None:
    """Raise InputError unless these are a sequence of texts. A single text would be treated as a list of letters."""
    if isinstance(texts, str) or not hasattr(texts, "__len__") or not all(isinstance(text, str) for text in texts):
        raise InputError("The texts are not a list of str.", "Give a list of str.")
