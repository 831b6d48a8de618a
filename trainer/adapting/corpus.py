"""The chunks of an index: those to train on, and those of held-out documents, whose sentences choose the result."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from random import Random

from cdesearch.errors import InputError
from cdesearch.evaluation.own_questions import sample_chunks, sentence_questions
from cdesearch.evaluation.questions import Question
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from cdesearch.terminal import counted
from trainer.data.random_stream import random_stream
from trainer.data.stored import digest_of

LEAST_CHUNKS = 300  # of an index; with fewer, neither training nor the choice of the result is sound
LEAST_QUESTIONS = 40
LEAST_DOCUMENTS = 20  # of an index with fewer, parts of documents are held out
PART = 20  # chunks of such a part
HELD_OUT = 0.25  # of the chunks, at most


class TooLittleTextError(InputError):
    """An index has too little text to learn from, or to measure whether anything was gained."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The chunks of an index, or of a sample of its documents, in two groups; and sentences of the second."""

    trained: list[Chunk]
    held_out: list[Chunk]
    questions: list[Question]  # each is a sentence of a chunk in `held_out`, which answers it

    @property
    def digest(self) -> str:
        """A digest of all texts and their documents, however many of them are held out."""
        chunks = (*self.trained, *self.held_out)
        return digest_of(sorted(f"{chunk.document_id}\0{chunk.text}" for chunk in chunks))


def read_corpus(index: Index, n_held_out: int, seed: int) -> Corpus:
    """Read the chunks; about `n_held_out` of them are held out, at most a quarter of all.

    Raises IndexStateError, and TooLittleTextError if the index is too small or has too few sentences.
    """
    n_chunks = index.manifest.n_chunks
    if n_chunks < LEAST_CHUNKS:
        raise TooLittleTextError(
            f"The index has {counted(n_chunks, 'chunk')}. That is too little text to learn from, and to measure whether"
            f" anything was gained: adapt needs {LEAST_CHUNKS}.",
            "Keep the model of the index.",
        )
    chunks = sample_chunks(index, Random(seed))
    most_held_out = int(HELD_OUT * len(chunks))
    trained, held_out = _divided(chunks, min(n_held_out, most_held_out), seed)
    sentences = _only_held_out(sentence_questions(held_out), trained)
    if len(sentences) < LEAST_QUESTIONS:
        more_trained, more_held_out = _divided(chunks, most_held_out, seed)
        at_most = _only_held_out(sentence_questions(more_held_out), more_trained)
        raise _too_few(len(sentence_questions(chunks)), len(sentences), len(at_most))
    return Corpus(trained, held_out, sentences)


def _only_held_out(questions: Sequence[Question], trained: Sequence[Chunk]) -> list[Question]:
    """One question for each sentence that stands in no chunk to train on."""
    bodies = "\n".join(chunk.body for chunk in trained)
    different = {question.text: question for question in questions}
    return [question for question in different.values() if question.removed not in bodies]


def _too_few(n_everywhere: int, n_held_out: int, n_at_most: int) -> TooLittleTextError:
    """What to say if too few sentences are held out, by their number in all chunks, now, and with enough minutes."""
    needed = f"and adapt needs {LEAST_QUESTIONS} to measure whether anything was gained."
    keep = "Keep the model of the index."
    if n_everywhere < LEAST_QUESTIONS:
        passages = counted(n_everywhere, "passage")
        return TooLittleTextError(f"The index has {passages} with a sentence that can be searched for, {needed}", keep)
    return TooLittleTextError(
        f"The held-out documents have {counted(n_held_out, 'sentence')} that stand in no other document, {needed}",
        "Give more --minutes, so that more documents are held out, or keep the model of the index."
        if n_at_most >= LEAST_QUESTIONS
        else keep,
    )


def _divided(chunks: Sequence[Chunk], n_held_out: int, seed: int) -> tuple[list[Chunk], list[Chunk]]:
    """The chunks to train on and those that are held out: whole documents, or parts if there are few documents."""
    in_parts = len({chunk.document_id for chunk in chunks}) < LEAST_DOCUMENTS
    groups: dict[Hashable, list[Chunk]] = defaultdict(list)
    for chunk in sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.record or "", chunk.ordinal)):
        groups[chunk.document_id, chunk.ordinal // PART if in_parts else 0].append(chunk)
    names = sorted(groups, key=str)
    trained: list[Chunk] = []
    held_out: list[Chunk] = []
    for place in random_stream(seed, "held-out documents").permutation(len(names)):
        group = groups[names[place]]
        # A very long document is trained on, so that the rest of the corpus is held out, too.
        fits = len(held_out) + len(group) <= n_held_out
        (held_out if fits else trained).extend(group)
    return trained, held_out
