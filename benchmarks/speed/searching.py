"""Measure searching: warm queries on growing indexes, a cold process, and the cost of a context in the model."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.measurement import Measurement
from benchmarks.speed.indexing import corpus_file
from benchmarks.speed.synthetic import Material, draw, grow, source_index
from benchmarks.speed.turns import in_turns
from cdesearch.context.context import Context
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.search.options import Mode
from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index
from trainer.data.pairs.beir import read_queries, read_texts

GATE = 0.5
CONTEXT_SIZE = 512
COLD_RUNS = 9
QUERIES = 210


def search_measurements(corpus: Path, work: Path, sizes: Sequence[int]) -> list[Measurement]:
    """Warm hybrid queries at each size, p50 and p95 with query encoding, and a cold query on the largest index."""
    source = source_index(corpus, work / "search")
    queries = search_queries(corpus)
    measurements = []
    for size in sizes:
        index = grow(source, work / f"grown-{size}", draw(Material(source), size))
        measurements += _warm(index, size, queries)
    largest = work / f"grown-{sizes[-1]}"
    command = [sys.executable, "-m", "cdesearch", "query", "--index", str(largest), queries[0]]
    measurements.append(Measurement(f"cold query at {sizes[-1]:,} chunks", _cold(command), "s", at_most=1.5))
    return measurements


def _warm(index: Index, size: int, queries: Sequence[str]) -> list[Measurement]:
    searcher = Searcher(index)
    for query in queries[:10]:
        searcher.search(query)
    took: dict[Mode, list[float]] = {"hybrid": [], "dense": [], "text": []}
    for query in queries[10:]:
        for mode, times in took.items():
            started = time.perf_counter()
            searcher.search(query, mode=mode)
            times.append(1000 * (time.perf_counter() - started))
    bar = 20.0 if size == 100_000 else None
    detail: dict[str, Any] = {
        mode: {"p50": median(times), "p95": quantiles(times, n=20)[-1]} for mode, times in took.items()
    }
    return [
        Measurement(
            f"warm hybrid search p50 at {size:,} chunks", detail["hybrid"]["p50"], "ms", at_most=bar, detail=detail
        ),
        Measurement(f"warm hybrid search p95 at {size:,} chunks", detail["hybrid"]["p95"], "ms"),
    ]


def _cold(command: list[str]) -> float:
    """The median seconds of a whole process; the files of the index are in the page cache."""
    seconds = []
    for _ in range(COLD_RUNS):
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True, env=os.environ | {"NO_COLOR": "1"})
        seconds.append(time.perf_counter() - started)
    return median(seconds)


def search_queries(corpus: Path) -> list[str]:
    """The first queries of the folder; for a corpus without queries, the first words of its texts."""
    if (corpus / "queries.jsonl").is_file():
        return list(read_queries(corpus).values())[:QUERIES]
    return [" ".join(text.split()[:8]) for text in read_texts(corpus_file(corpus)).values()][:QUERIES]


def context_measurements(corpus: Path, biencoder: Path, work: Path, rounds: int) -> list[Measurement]:
    """Measure encoding with 512 context chunks (gates not zero), without context, and in joint attention on torch."""
    texts = [text[:700] for text in read_texts(corpus_file(corpus)).values()][:CONTEXT_SIZE]
    plain, gated, joint = (_variant(biencoder, work / name, name) for name in ("plain", "gated", "joint"))
    contexts = {name: _context(encoder, texts) for name, encoder in (("plain", plain), ("gated", gated))}
    some = texts[:192]
    took = in_turns(
        {
            "none": lambda: plain.encode(some, "document", None),
            "statistics": lambda: plain.encode(some, "document", contexts["plain"]),
            "cached": lambda: gated.encode(some, "document", contexts["gated"]),
        },
        rounds,
    )
    on_torch = load_encoder(work / "plain-torch", "cpu")
    few = texts[:16]
    gated_context = contexts["gated"]
    joint_context = replace(gated_context, inputs=replace(gated_context.inputs, keys=None, values=None))
    slow = in_turns(
        {
            "none": lambda: on_torch.encode(few, "document", None),
            "joint": lambda: joint.encode(few, "document", joint_context),
        },
        rounds,
    )
    detail = {"texts": len(some), "seconds": took, "joint_texts": len(few), "joint_seconds": slow}
    return [
        Measurement(
            "cached context, gates not zero", took["cached"] / took["none"], "times", at_most=1.35, detail=detail
        ),
        Measurement("whitening alone", took["statistics"] / took["none"], "times", at_most=1.35),
        Measurement("joint context (torch)", slow["joint"] / slow["none"], "times"),
    ]


def _variant(biencoder: Path, folder: Path, name: str) -> Encoder:
    """The start model: on ONNX int8 with gates at zero or not, or with joint attention on torch."""
    import shutil

    import torch

    from trainer.export import export
    from trainer.start import start_model

    model = start_model(biencoder, context_attention="joint" if name == "joint" else "cached")
    if name == "gated":
        with torch.no_grad():
            for gate in model.second_stage.gates:
                gate.fill_(GATE)
    export(model, biencoder / "tokenizer.json", folder, "int8")
    if name == "plain":
        ignore = shutil.ignore_patterns("onnx")
        shutil.copytree(folder, folder.with_name("plain-torch"), ignore=ignore)
    return load_encoder(folder, "cpu")


def _context(encoder: Encoder, texts: Sequence[str]) -> Context:
    names = [str(number) for number in range(len(texts))]
    return encoder.make_context(names, names, texts, encoder.count_tokens(texts), seed=0)
