"""Measure indexing: compared with sentence-transformers and with the encoder alone, and its memory and disk."""

import json
from itertools import count
from pathlib import Path

from benchmarks.machine import peak_memory
from benchmarks.measurement import Measurement
from benchmarks.speed.material import corpus_file
from benchmarks.speed.runs import in_process, in_turns
from benchmarks.speed.synthetic import write_first_lines
from cdesearch.encode.load import load_encoder
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options
from trainer.data.pairs.beir import read_texts


def index_measurements(corpus: Path, biencoder: Path, work: Path, documents: int, rounds: int) -> list[Measurement]:
    """A whole `cdesearch index`, in turns with sentence-transformers and with the encoder alone on the same chunks."""
    from sentence_transformers import SentenceTransformer

    source = write_first_lines(corpus, work / "speed.jsonl", documents)
    encoder = load_encoder()
    peer = SentenceTransformer(str(biencoder), device="cpu")
    peer.max_seq_length = encoder.max_tokens  # so that both read the same tokens: its own limit is 256
    build([source], Options(index=work / "speed"), Silent())
    index = Index(work / "speed")
    texts = index.chunks.search().select(["text"]).limit(index.chunks.count_rows()).to_arrow()["text"].to_pylist()
    fresh = (work / f"speed-{number}" for number in count())
    took = in_turns(
        {
            "index": lambda: build([source], Options(index=next(fresh)), Silent()),
            "encoder": lambda: encoder.encode(texts, "document", index.context),
            "peer": lambda: peer.encode(texts, batch_size=32, show_progress_bar=False),
        },
        rounds,
    )
    own, alone, other = (took[name] for name in ("index", "encoder", "peer"))
    detail = {"chunks": len(texts), "seconds": took}
    return [
        Measurement("index, whole run", len(texts) / own, "chunks/s", detail=detail),
        Measurement("sentence-transformers fp32, the same chunks", len(texts) / other, "chunks/s"),
        Measurement("index against sentence-transformers", other / own, "times", at_least=2.0),
        Measurement("index, of the encoder's own rate", 100 * alone / own, "%", at_least=90),
    ]


def memory_measurements(corpus: Path, work: Path, n_chunks: int) -> list[Measurement]:
    """Peak memory of the indexing process, and bytes on disk, for `n_chunks` short records."""
    source, folder = work / "many.jsonl", work / "many"
    text_bytes = _short_records(corpus, source, n_chunks)
    peak, seconds, size = in_process(_built, source, folder)
    index = Index(folder)
    payload = index.manifest.n_chunks * index.vectors.n_bytes + text_bytes
    detail = {"chunks": index.manifest.n_chunks, "seconds": seconds, "bytes": size, "text_bytes": text_bytes}
    return [
        Measurement("peak memory while indexing", peak / 1e9, "GB", at_most=1.5, detail=detail),
        Measurement("disk against vectors and text", size / payload, "times", at_most=1.6),
    ]


def _built(source: Path, folder: Path) -> tuple[int, float, int]:
    """Peak memory of the process in bytes, seconds, and the bytes of the index."""
    report = build([source], Options(index=folder, max_file_bytes=10**10), Silent())
    return peak_memory(), report.seconds, report.size_bytes


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
