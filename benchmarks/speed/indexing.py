"""Measure indexing, compared with sentence-transformers and with the encoder alone."""

from itertools import count
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.speed.runs import in_turns
from benchmarks.speed.synthetic import write_first_lines
from cdesearch.encode.load import load_encoder
from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options


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
