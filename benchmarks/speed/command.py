"""The command that measures indexing, searching, memory and disk against their targets."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, measure
from benchmarks.systems.biencoder import installed_minilm


def speed(
    corpus: Annotated[Path, typer.Argument(help="BEIR folder or corpus.jsonl to take texts and queries from.")],
    biencoder: Annotated[Path | None, typer.Option(help="all-MiniLM-L6-v2 folder; default: the installed one.")] = None,
    documents: Annotated[int, typer.Option(help="Documents to index against sentence-transformers.")] = 1000,
    rounds: Annotated[int, typer.Option(help="Alternating rounds; the result is their median.")] = 3,
    sizes: Annotated[str, typer.Option(help="Chunks of the search indexes.")] = "10000,100000",
    memory_chunks: Annotated[int, typer.Option(help="Chunks of the memory and disk run.")] = 200_000,
    served_chunks: Annotated[int, typer.Option(help="Chunks of the index of the server.")] = 100_000,
    seconds: Annotated[float, typer.Option(help="How long clients ask the server.")] = 600,
    rate: Annotated[float, typer.Option(help="How many searches a second they ask for.")] = 50,
    update_chunks: Annotated[int, typer.Option(help="Chunks of the index of which one file changes.")] = 200_000,
    files: Annotated[int, typer.Option(help="Files of the folder of many small files.")] = 100_000,
    only: Annotated[
        str, typer.Option(help="Any of index, context, search, memory, serving, cold, update, folder.")
    ] = "index,context,search,memory,serving,cold,update,folder",
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure indexing, context, search, memory, disk and a server against their targets."""
    from benchmarks.speed.cold import cold_measurements
    from benchmarks.speed.indexing import index_measurements, memory_measurements
    from benchmarks.speed.searching import context_measurements, search_measurements
    from benchmarks.speed.serving import Load, serving_measurements
    from benchmarks.speed.updating import folder_measurements, update_measurements

    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        suites: dict[str, Callable[[], list[Measurement]]] = {
            "index": lambda: index_measurements(corpus, biencoder or installed_minilm(), work, documents, rounds),
            "context": lambda: context_measurements(corpus, biencoder or installed_minilm(), work, rounds),
            "search": lambda: search_measurements(corpus, work, [int(size) for size in sizes.split(",")]),
            "memory": lambda: memory_measurements(corpus, work, memory_chunks),
            "serving": lambda: serving_measurements(corpus, work, served_chunks, Load(rate, seconds)),
            "cold": lambda: cold_measurements(corpus, work, served_chunks),
            "update": lambda: update_measurements(corpus, work, update_chunks),
            "folder": lambda: folder_measurements(corpus, work, files),
        }
        settings = {"corpus": corpus.name, "documents": documents, "rounds": rounds, "memory_chunks": memory_chunks}
        settings |= {"served_chunks": served_chunks, "seconds": seconds, "rate": rate}
        settings |= {"update_chunks": update_chunks, "files": files}
        measure("speed", chosen(suites, only), settings, out)
