"""Hard negatives: documents that BM25 or a checkpoint ranks high for a query, although another document answers it."""

import gzip
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from cdesearch.context.vectors import Floats
from cdesearch.errors import InputError
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.pairs.reading import Pair, domain_name, read_pairs
from trainer.data.store import Integers, random_stream
from trainer.data.surrogate import WordScores, surrogate_vectors
from trainer.replacing import writing

WORK = ".cdesearch-mining"  # the folder in the output of what is computed so far, which is removed at the end
ANOTHER = "Name a new or empty folder."

ROWS = 256  # queries whose scores with all documents of the domain are in memory at once
NO_CANDIDATE = -np.inf

ScoresOf = Callable[[slice], Floats]  # from R queries to their scores (R, D) with the distinct documents
PairsOf = tuple[str, Sequence[Pair]]  # a domain and its pairs


@dataclass(frozen=True, slots=True)
class Answers:
    """The distinct documents of N pairs, and those that answer the query of each pair.

    Texts that differ only in case and white space count as one, both queries and documents.
    """

    texts: list[str]  # D, as they are first written
    own: Integers  # (N,) the document of each pair
    query: Integers  # (N,) the number of each pair's query
    documents: list[Integers]  # of each query: the documents of all of its pairs

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "Answers":
        documents: dict[str, int] = {}
        queries: dict[str, int] = {}
        texts: list[str] = []
        own, asked = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
        for row, pair in enumerate(pairs):
            own[row] = documents.setdefault(normal(pair.document), len(documents))
            asked[row] = queries.setdefault(normal(pair.query), len(queries))
            if own[row] == len(texts):
                texts.append(pair.document)
        order = np.argsort(asked, kind="stable")
        starts = np.searchsorted(asked[order], np.arange(1, len(queries)))
        return cls(texts, own, asked, [np.unique(rows) for rows in np.split(own[order], starts)])

    def of_queries(self, rows: slice) -> list[Integers]:
        """The documents that answer the query of each of the pairs in `rows`."""
        return [self.documents[query] for query in self.query[rows].tolist()]


def normal(text: str) -> str:
    """A text in the form in which texts that count as one are equal."""
    return " ".join(text.casefold().split())


def write_pairs(file: Path, pairs: Iterable[Pair]) -> None:
    """Write a .jsonl.gz file that `read_pairs` reads; raises StorageError."""
    with writing(file), gzip.open(file, "wt", encoding="utf-8") as lines:
        for pair in pairs:
            lines.write(json.dumps(_row(pair), ensure_ascii=False) + "\n")


def _row(pair: Pair) -> dict[str, Any]:
    row = {"query": pair.query, "document": pair.document, "document_id": pair.document_id}
    place = {"place": pair.place} if pair.place else {}
    group = {"group": pair.group} if pair.group else {}
    scores = {"scores": pair.scores} if pair.scores else {}
    return row | place | group | {"negatives": pair.negatives} | scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Mining:
    """By what documents are ranked, and which of them become hard negatives.

    `count` documents are drawn at random from the `depth` best that are not excluded. Excluded are documents of the
    same query, those whose score is above that of the pair's own document by more than `margin` times that score, and
    those whose score is not above zero, as of documents that share no word with the query.
    """

    model: Path | None = None  # a checkpoint; None: BM25
    depth: int = 200
    count: int = 7
    margin: float = 0.1
    seed: int = 0


def mine(domains: Iterable[PairsOf], inputs: Sequence[Path], out: Path, mining: Mining, display: Display) -> list[int]:
    """Write the pairs of each domain with hard negatives, one .jsonl.gz file a domain, into `out`.

    Returns for each pair the number of its hard negatives. `inputs` are the pair files that the domains come from. If
    the function is stopped, the next call continues with the vectors and words in `out`. Raises CdesearchError.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is not a folder.", ANOTHER)
    for file in inputs:
        if out.exists() and out.samefile(file.parent):
            raise InputError(f"{out} is the folder of {file.name}, which is an input.", ANOTHER)
        if (target := out / f"{domain_name(file)}.jsonl.gz").exists():
            raise InputError(f"{target} exists and would be overwritten.", ANOTHER)
    work, files, n_negatives = out / WORK, list[Path](), list[int]()
    with writing(out):
        work.mkdir(parents=True, exist_ok=True)
    for name, pairs in domains:
        mined = list(with_negatives(name, pairs, work, mining, display))
        files.append(work / f"{name}.jsonl.gz")
        write_pairs(files[-1], mined)
        n_negatives += [len(pair.negatives) for pair in mined]
    with writing(out):
        for file in files:
            file.replace(out / file.name)
        shutil.rmtree(work)
    return n_negatives


def told(n_negatives: list[int], out: Path) -> Iterator[str]:
    """Lines on what was found, and on what to do with it."""
    n_pairs, most = len(n_negatives), max(n_negatives)
    yield (
        f"{counted(n_pairs, 'pair')} with {counted(sum(n_negatives), 'hard negative')}"
        f" {'is' if n_pairs == 1 else 'are'} in {out} ({n_negatives.count(0):,} without any)."
    )
    yield (
        f"Next: set data.pairs to ['{out}'] in a recipe, and batches.hard_negatives to {most} or less."
        if most
        else "Raise --margin, rank by --model, or add documents to the pair files."
    )


def read_domains(files: Sequence[Path]) -> Iterator[PairsOf]:
    """The pairs of each file that have texts; raises SourceError."""
    for file in files:
        yield domain_name(file), [pair for pair in read_pairs(file) if pair.query and pair.document]


def with_negatives(name: str, pairs: Sequence[Pair], work: Path, mining: Mining, display: Display) -> Iterator[Pair]:
    """The pairs of a domain with hard negatives, the best ranked first.

    Hard negatives that a pair already has are kept, unless they answer its query: new and old ones alternate, so that
    training on the first few uses both. Scores of a teacher are kept if it has scored all that the pair then has.
    """
    if not pairs:
        raise InputError(f"{name} has no pairs of texts.", "Correct the pair file, or leave it out.")
    answers = Answers.of(pairs)
    scores_of = _scores_of_words if mining.model is None else _scores_of_model
    scored = scores_of(name, pairs, answers, work, mining, display)
    advance = display.stage(f"Mining {name}", len(pairs))
    random = random_stream(mining.seed, f"hard negatives of {name}")
    for first in range(0, len(pairs), ROWS):
        rows = slice(first, min(first + ROWS, len(pairs)))
        scores = excluding(scored(rows), answers, rows, mining.margin)
        for pair, row, own in zip(pairs[rows], scores, answers.of_queries(rows), strict=True):
            new = [answers.texts[document] for document in drawn(row, mining, random)]
            right = {normal(answers.texts[document]) for document in own.tolist()}
            both = chain.from_iterable(zip_longest(new, pair.negatives))
            kept = {normal(text): text for text in both if text is not None and normal(text) not in right}
            yield _with(pair, kept.values())
        advance(rows.stop - rows.start)


def _with(pair: Pair, negatives: Collection[str]) -> Pair:
    """The pair with other negatives, and with the teacher's scores if it has scored all of these."""
    scored = dict(zip(pair.negatives, pair.scores[1:], strict=False))
    has_all = bool(pair.scores) and scored.keys() >= set(negatives)
    scores = (pair.scores[0], *(scored[text] for text in negatives)) if has_all else ()
    return replace(pair, negatives=tuple(negatives), scores=scores)


def excluding(scores: Floats, answers: Answers, rows: slice, margin: float) -> Floats:
    """The scores (R, D) of the queries of `rows`, with NO_CANDIDATE for documents that may answer them."""
    own = np.take_along_axis(scores, answers.own[rows][:, None], axis=1)
    kept = np.where((scores > own + margin * np.abs(own)) | (scores <= 0), np.float32(NO_CANDIDATE), scores)
    for row, documents in enumerate(answers.of_queries(rows)):
        kept[row, documents] = NO_CANDIDATE
    return kept


def drawn(scores: Floats, mining: Mining, random: np.random.Generator) -> list[int]:
    """At most `count` documents of one query, drawn from the `depth` best of its scores (D,), the best ranked first."""
    depth = min(mining.depth, len(scores))
    best = np.argpartition(-scores, depth - 1)[:depth]
    best = best[scores[best] > NO_CANDIDATE]
    best = best[np.lexsort((best, -scores[best]))]
    if len(best) > mining.count:
        best = best[np.sort(random.choice(len(best), mining.count, replace=False))]
    return [int(document) for document in best]


def _scores_of_words(
    name: str, pairs: Sequence[Pair], answers: Answers, work: Path, _: Mining, display: Display
) -> ScoresOf:
    display.stage(f"Words of {name}", None)
    words = WordScores.stored(work / f"{name}-words", answers.texts)
    return lambda rows: words.scores([pair.query for pair in pairs[rows]])


def _scores_of_model(
    name: str, pairs: Sequence[Pair], answers: Answers, work: Path, mining: Mining, display: Display
) -> ScoresOf:
    import torch

    from trainer.data.surrogate import open_surrogate

    assert mining.model is not None
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder = open_surrogate(mining.model, device).truncated_to(128)  # tokens of a text
    texts = [pair.query for pair in pairs]
    advance = display.stage(f"Vectors of {name}", len(texts) + len(answers.texts))
    queries = surrogate_vectors(name, texts, "query", encoder, work, advance)
    documents = surrogate_vectors(name, answers.texts, "document", encoder, work, advance)
    return lambda rows: np.asarray(queries[rows] @ documents.T)
