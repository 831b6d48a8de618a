"""The command `ask`: measure passages in a budget of tokens, and answers without a language model, on meetings."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.datasets.meetings import Lines, Meetings, Question, read_meetings
from benchmarks.measurement import RESULTS, Measurement, make_results_folder, measure
from benchmarks.systems.biencoder import Biencoder, installed_minilm
from benchmarks.systems.text import Bm25
from cdesearch.answer.extract import MAX_SENTENCES, Candidate, CorpusView, candidates_of, extract
from cdesearch.api import build
from cdesearch.search.documents import DocumentReader
from cdesearch.search.passages import Passage, fit_passages, tokens_of
from cdesearch.search.result import seem_to_answer
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk, Hit

HITS = 20  # the number of hits from which passages are made, as in `cdesearch ask`
ANSWER_TOKENS = 1500  # the budget for the passages of an answer, as in `cdesearch ask`

Ranking = Callable[[Question], Sequence[Hit]]


def ask(
    data: Annotated[Path, typer.Argument(help="A Parquet file of QMSum: meetings with questions.")],
    tokens: Annotated[str, typer.Option(help="Budgets of tokens, separated by commas.")] = "500,1000,2000",
    meetings: Annotated[int | None, typer.Option(help="Number of meetings to use. Default: all.")] = None,
    work: Annotated[Path, typer.Option(help="Folder for the index, which later runs reuse.")] = Path("runs/ask"),
    out: Annotated[Path, typer.Option(help="Folder for the JSON file with the results.")] = RESULTS,
) -> None:
    """Measure how often passages in a budget contain the labelled lines, and whether answers quote these lines."""
    make_results_folder(out)
    read = read_meetings(data, meetings)
    folder = work / f"{data.stem}-{len(read.texts)}"
    read.write(folder)
    budgets = [int(budget) for budget in tokens.split(",")]
    settings: dict[str, Any] = {
        "data": data.name,
        "meetings": len(read.texts),
        "questions": len(read.questions),
        "hits": HITS,
        "tokens of an answer": ANSWER_TOKENS,
    }
    build(folder).close()
    with Searcher(Index.open(folder)) as searcher:
        rankings = _rankings(searcher, read, work)
        suites = {
            "passages": lambda: _passages(searcher, read, rankings, budgets),
            "sentences": lambda: _sentences(searcher, read, rankings["cdesearch"]),
        }
        measure("ask", suites, settings, out)


def _rankings(searcher: Searcher, meetings: Meetings, work: Path) -> dict[str, Ranking]:
    """Functions that rank the chunks of a question's meeting, by the name of the system."""
    reader = DocumentReader(searcher.index)
    chunks = [chunk for name in meetings.texts for chunk in reader.file(name)]
    dataset = meetings.dataset(chunks)
    queries, texts = Biencoder(installed_minilm(), work / "vectors", "MiniLM").vectors(dataset)
    rows = {question: row for row, question in enumerate(meetings.questions)}

    def by(scores: np.ndarray[Any, Any]) -> Ranking:
        return lambda question: _best(chunks, scores[rows[question]], question.file)

    return {
        "cdesearch": lambda question: searcher.search(question.text, HITS, path=question.file),
        "BM25": by(Bm25().scores(dataset)),
        "MiniLM": by(queries @ texts.T),
    }


def _best(chunks: Sequence[Chunk], scores: np.ndarray[Any, Any], file: str) -> list[Hit]:
    """The HITS chunks of one file with the highest scores."""
    rows = [row for row in np.argsort(-scores, kind="stable").tolist() if chunks[row].path == file][:HITS]
    return [Hit(rank, float(scores[row]), chunks[row], None, None) for rank, row in enumerate(rows, 1)]


def _passages(
    searcher: Searcher, meetings: Meetings, rankings: dict[str, Ranking], budgets: Sequence[int]
) -> list[Measurement]:
    found = []
    for name, ranking in rankings.items():
        hits = [ranking(question) for question in meetings.questions]
        for budget in budgets:
            fitted = [_fitted(searcher, name, one, budget) for one in hits]
            lines = [_lines(passages) for passages in fitted]
            recall = [
                len(frozenset().union(*question.parts) & held) / len(frozenset().union(*question.parts))
                for question, held in zip(meetings.questions, lines, strict=True)
            ]
            whole = [
                any(part <= held for part in question.parts)
                for question, held in zip(meetings.questions, lines, strict=True)
            ]
            kind = "passages" if name == "cdesearch" else "plain top-k"
            title = f"{kind} of {name}, {budget} tokens"
            found.append(_percent(f"{title}: share of the labelled lines", recall))
            found.append(_percent(f"{title}: a labelled part held whole", whole))
    return found


def _fitted(searcher: Searcher, name: str, hits: Sequence[Hit], budget: int) -> Sequence[Passage]:
    """Fit hits into the budget: as passages for cdesearch, and as whole chunks, best first, for other systems."""
    tokenizer = searcher.encoder.tokenizer
    if name == "cdesearch":
        return fit_passages(hits, budget, tokenizer)
    chosen, left = [], budget
    for hit in hits:
        (passage,) = fit_passages([hit], 100_000, tokenizer)
        left -= tokens_of(passage, tokenizer)
        if left < 0:
            break
        chosen.append(passage)
    return chosen


def _sentences(searcher: Searcher, meetings: Meetings, ranking: Ranking) -> list[Measurement]:
    corpus = CorpusView(searcher.encoder, searcher.index.context, searcher.index.vectors)
    quoted: list[list[bool]] = []
    leading: list[list[bool]] = []
    shares, refused = [], []
    for question in meetings.questions:
        hits = ranking(question)
        passages = fit_passages(hits, ANSWER_TOKENS, searcher.encoder.tokenizer)
        refused.append(not seem_to_answer(hits))
        labelled: Lines = frozenset().union(*question.parts)
        candidates = candidates_of(passages)
        quoted.append(_are_labelled(extract(question.text, passages, corpus), labelled))
        leading.append(_are_labelled(candidates[:MAX_SENTENCES], labelled))
        shares.append(np.mean(_are_labelled(candidates, labelled) or [False]))
    found = []
    for name, answers in (("quotes", quoted), ("first sentences of the best passage", leading)):
        found.append(_percent(f"{name}: at least one labelled", [any(answer) for answer in answers]))
        found.append(_percent(f"{name}: share that is labelled", [np.mean(answer or [False]) for answer in answers]))
    found.append(_percent("sentences of all passages: share that is labelled", shares))
    found.append(_percent("questions refused", refused))
    return found


def _percent(name: str, values: Sequence[Any]) -> Measurement:
    return Measurement(name, 100 * float(np.mean(values)), "%")


def _are_labelled(quotes: Sequence[Candidate], labelled: Lines) -> list[bool]:
    return [quote.line in labelled for quote in quotes]


def _lines(passages: Sequence[Passage]) -> Lines:
    ranges = ((passage.line_start, passage.line_end) for passage in passages)
    return frozenset(line for first, last in ranges if first and last for line in range(first, last + 1))
