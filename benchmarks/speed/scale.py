"""The command that measures indexes of very many chunks: stages of the build, disk, recall, queries and an update."""

import json
import subprocess
import sys
import tempfile
from math import ceil, log
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from benchmarks.machine import describe
from benchmarks.measurement import RESULTS, make_results_folder, positive_numbers, show
from benchmarks.speed.searching import QUERIES, search_queries
from benchmarks.speed.sentences import SENTENCES, PairTexts
from benchmarks.speed.synthetic import LIKE, ROWS, source_index
from cdesearch.errors import InputError
from cdesearch.store.index import Index
from cdesearch.store.vector_format import KINDS

STAGES = ("build", "search", "update")
LEAST_RESEMBLED = 1_000  # chunks, below which neighbours are far apart


def scale(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder to draw texts and vectors from.")],
    sizes: Annotated[str, typer.Option(help="Numbers of chunks, separated by commas.")] = "1000000,10000000",
    vectors: Annotated[str, typer.Option(help=f"Kind of the stored vectors: {', '.join(KINDS)}.")] = "int8",
    pairs: Annotated[
        Path | None,
        typer.Option(help="Folder of pair files to draw the sentences and the queries from; default: CORPUS."),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            help="Index of many texts, to whose vectors those drawn are similar, so that recall means something."
        ),
    ] = None,
    chunks_per_file: Annotated[int, typer.Option(help=f"Chunks of each file; divides {ROWS:,}.")] = 10,
    folder: Annotated[
        Path | None, typer.Option(help="Where the indexes are made, and then removed; default: a temporary folder.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure indexes of drawn texts and vectors, each stage in a process of its own.

    The last column is the exponent with which a cost grows from the first size to the last: 1 is linear.
    """
    _check(corpus, vectors, chunks_per_file, folder)
    many = None if like is None else _of_many(like)
    counts = [ceil(number) for number in positive_numbers(sizes, "--sizes")]
    make_results_folder(out)
    queries, sentences = _queries_and_sentences(corpus, pairs)
    machine = describe()
    columns: dict[int, dict[str, float]] = {}
    for size in counts:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            work = Path(name)
            if many is None:
                source_index(corpus, work / "source")
            else:
                (work / LIKE).write_text(str(many.folder.resolve()), encoding="utf-8")
            (work / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
            if sentences is not None:
                (work / SENTENCES).write_text(json.dumps(sentences), encoding="utf-8")
            columns[size] = {}
            for stage in STAGES:
                figures = _run(stage, work, vectors, size // chunks_per_file, chunks_per_file)
                print(f"{size:,} chunks, {stage}: {figures}", file=sys.stderr)
                columns[size] |= figures
    _show(columns)
    file = out / f"scale-{vectors}-{machine['date']}-{machine['commit']}.json"
    resembled = {} if many is None else {"like": many.manifest.n_chunks}
    texts = {"corpus": corpus.name, "sentences": (pairs or corpus).name, "chunks_per_file": chunks_per_file}
    file.write_text(
        json.dumps({"machine": machine, **texts, **resembled, "sizes": columns}, indent=1) + "\n", encoding="utf-8"
    )
    print(f"Written to {file}")


def _check(corpus: Path, vectors: str, chunks_per_file: int, folder: Path | None) -> None:
    """Raise InputError for an argument that cannot be used."""
    if vectors not in KINDS:
        raise InputError(f"There is no kind of vectors {vectors}.", f"Name one of {', '.join(KINDS)}.")
    if folder is not None and not folder.is_dir():
        raise InputError(f"There is no folder {folder}.", "Make it, or omit --folder.")
    if chunks_per_file < 1 or ROWS % chunks_per_file:
        raise InputError(f"{chunks_per_file} does not divide {ROWS:,}.", "Name another --chunks-per-file.")
    if unknown := sorted(name for name in ("corpus.jsonl", "queries.jsonl") if not (corpus / name).is_file()):
        raise InputError(f"{corpus} has no {unknown[0]}.", "Name a BEIR folder.")


def _of_many(like: Path) -> Index:
    """The index in a folder; raises InputError if it has few chunks, and IndexStateError."""
    index = Index(like)
    if (n_chunks := index.manifest.n_chunks) < LEAST_RESEMBLED:
        raise InputError(
            f"The index {like} has {n_chunks:,} chunks.", f"Name an index of at least {LEAST_RESEMBLED:,} with --like."
        )
    return index


def _queries_and_sentences(corpus: Path, pairs: Path | None) -> tuple[list[str], list[str] | None]:
    """The queries, and the sentences to draw texts from; None for those of the corpus. Raises InputError."""
    if pairs is None:
        return search_queries(corpus), None
    texts = PairTexts(pairs)
    queries, sentences = texts.queries(QUERIES), texts.sentences()
    if not queries or not sentences:
        raise InputError(f"{pairs} has no pairs with sentences.", "Name another folder of pair files.")
    return queries, sentences


def _run(stage: str, work: Path, vectors: str, n_files: int, chunks_per_file: int) -> dict[str, float]:
    module = "benchmarks.speed.scale_process"
    command = [sys.executable, "-m", module, stage, str(work), vectors, str(n_files), str(chunks_per_file)]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if run.returncode < 0:
        raise InputError(
            f"The stage {stage} was ended by signal {-run.returncode}.", "Free memory, or name fewer chunks."
        )
    if run.returncode:  # it has said why
        raise typer.Exit(run.returncode)
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def _show(columns: dict[int, dict[str, float]]) -> None:
    sizes = list(columns)
    table = Table("", *(f"{size:,}" for size in sizes), "exponent")
    for name in columns[sizes[-1]]:
        values: list[Any] = [columns[size].get(name) for size in sizes]
        table.add_row(name, *("" if value is None else f"{value:.4g}" for value in values), _exponent(sizes, values))
    show(table)


def _exponent(sizes: list[int], values: list[float | None]) -> str:
    first, last = values[0], values[-1]
    if len(sizes) < 2 or not first or not last:
        return ""
    return f"{log(last / first) / log(sizes[-1] / sizes[0]):.2f}"
