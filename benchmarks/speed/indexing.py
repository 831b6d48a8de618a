"""Measure indexing: speed compared with sentence-transformers, time outside the model, memory and disk."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import gemm_rate
from benchmarks.measurement import Measurement
from benchmarks.speed.operations import forward_operations
from cdesearch.encode.length_batches import split_spans
from cdesearch.encode.load import load_encoder
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.embedding.embedding_cache import EmbeddingCache
from indexer.settings import Options
from trainer.data.pairs.beir import read_texts

MODEL_STAGES = ("Embedding the context", "Embedding")

# Runs the product and prints the peak memory of its process, in bytes.
_PEAK = (
    "import json, sys\n"
    "from pathlib import Path\n"
    "from benchmarks.machine import peak_memory\n"
    "from indexer.build import build\n"
    "from cdesearch.progress import Silent\n"
    "from indexer.settings import Options\n"
    "report = build([Path(sys.argv[1])], Options(index=Path(sys.argv[2]), max_file_bytes=10**10), Silent())\n"
    "print(json.dumps([peak_memory(), report.seconds, report.size_bytes]))\n"
)


def index_measurements(corpus: Path, biencoder: Path, work: Path, documents: int, rounds: int) -> list[Measurement]:
    """A whole `cdesearch index`, in turns with sentence-transformers encoding the same chunks."""
    from sentence_transformers import SentenceTransformer

    source = write_first_lines(corpus, work / "speed.jsonl", documents)
    peer = SentenceTransformer(str(biencoder), device="cpu")
    peer.max_seq_length = load_encoder().max_tokens  # so that both read the same tokens: its own limit is 256
    own_seconds: list[float] = []
    peer_seconds: list[float] = []
    outside: list[float] = []
    texts: list[str] = []
    for number in range(rounds):
        folder = work / f"speed-{number}"
        timeline = _Timeline()
        started = time.perf_counter()
        build([source], Options(index=folder), timeline)
        own_seconds.append(time.perf_counter() - started)
        outside.append(1 - timeline.in_model() / own_seconds[-1])
        chunks = Index(folder).chunks
        texts = chunks.search().select(["text"]).limit(chunks.count_rows()).to_arrow()["text"].to_pylist()
        started = time.perf_counter()
        peer.encode(texts, batch_size=32, show_progress_bar=False)
        peer_seconds.append(time.perf_counter() - started)
    detail = {"chunks": len(texts), "seconds": own_seconds, "sentence_transformers_seconds": peer_seconds}
    return [
        Measurement("index, whole run", len(texts) / median(own_seconds), "chunks/s", detail=detail),
        Measurement("sentence-transformers fp32, the same chunks", len(texts) / median(peer_seconds), "chunks/s"),
        Measurement(
            "index against sentence-transformers", median(peer_seconds) / median(own_seconds), "times", at_least=2.0
        ),
        Measurement("time outside the model", 100 * median(outside), "%", at_most=15),
        _share_of_gemm(texts, median(own_seconds)),
    ]


def _share_of_gemm(texts: list[str], seconds: float) -> Measurement:
    """The rate of operations of the run, in percent of this machine's float32 matrix products; int8 can exceed 100%."""
    encoder = load_encoder()
    lengths = [min(len(text.ids), encoder.max_tokens) for text in encoder.tokenizer.encode_batch_fast(texts)]
    spans = [span for length in lengths for span in split_spans(range(length), 1, encoder.config.span_tokens)]
    operations = forward_operations(encoder.config.backbone, [len(span) for span in spans])
    reached, rate = operations / seconds / 1e9, gemm_rate()
    detail = {"gflops": reached, "gemm_gflops": rate, "tokens": sum(lengths)}
    return Measurement("rate of products, against float32 matrices", 100 * reached / rate, "%", detail=detail)


def memory_measurements(corpus: Path, work: Path, n_chunks: int) -> list[Measurement]:
    """Peak memory of the indexing process, and bytes on disk, for `n_chunks` short records."""
    source = work / "many.jsonl"
    text_bytes = _short_records(corpus, source, n_chunks)
    folder = work / "many"
    command = [sys.executable, "-c", _PEAK, str(source), str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, seconds, size = json.loads(run.stdout.splitlines()[-1])
    index = Index(folder)
    payload = index.manifest.n_chunks * index.vectors.n_bytes + text_bytes
    detail = {"chunks": index.manifest.n_chunks, "seconds": seconds, "bytes": size, "text_bytes": text_bytes}
    return [
        Measurement("peak memory while indexing", peak / 1e9, "GB", at_most=1.5, detail=detail),
        Measurement("disk against vectors and text", size / payload, "times", at_most=1.6),
    ]


class _Timeline(Silent):
    """Records the time of each stage of a build. Writes during the embedding stage count as outside the model."""

    def __init__(self) -> None:
        self._stages: list[tuple[str, float]] = []
        self._writing = 0.0
        self._add = EmbeddingCache.add

    def stage(self, name: str, total: int | None) -> Callable[[int], None]:  # noqa: ARG002 (the protocol has it)
        """Record the beginning of a stage."""
        self._stages.append((name, time.perf_counter()))
        if name == "Embedding":
            EmbeddingCache.add = self._timed_add  # type: ignore[method-assign] # the real one, timed
        elif EmbeddingCache.add is not self._add:
            EmbeddingCache.add = self._add  # type: ignore[method-assign] # the real one again
        return lambda _: None

    def in_model(self) -> float:
        """Seconds in the stages that run the model, without the writes in them."""
        ends = [started for _, started in self._stages[1:]] + [time.perf_counter()]
        spent = [end - started for (_, started), end in zip(self._stages, ends, strict=True)]
        return sum(s for (name, _), s in zip(self._stages, spent, strict=True) if name in MODEL_STAGES) - self._writing

    @property
    def _timed_add(self) -> Callable[..., None]:
        def add(own: EmbeddingCache, *arguments: Any) -> None:
            started = time.perf_counter()
            self._add(own, *arguments)
            self._writing += time.perf_counter() - started

        return add


def corpus_file(corpus: Path) -> Path:
    """The JSONL file of a BEIR folder, or the file itself."""
    return corpus / "corpus.jsonl" if corpus.is_dir() else corpus


def write_first_lines(corpus: Path, out: Path, n: int) -> Path:
    """Write the first `n` rows of a corpus as a JSONL file; returns the file."""
    with corpus_file(corpus).open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as file:
        for _, line in zip(range(n), lines, strict=False):
            file.write(line)
    return out


def _short_records(corpus: Path, out: Path, n: int) -> int:
    """Write `n` different records of one sentence each; returns the bytes of their texts."""
    texts = read_texts(corpus_file(corpus)).values()
    sentences = [part[:80] for text in texts for part in text.split(". ") if part.strip()]
    size = 0
    with out.open("w", encoding="utf-8") as file:
        for number in range(n):
            text = f"{sentences[number % len(sentences)]} {number}"
            size += len(text.encode())
            file.write(json.dumps({"_id": str(number), "text": text}) + "\n")
    return size
