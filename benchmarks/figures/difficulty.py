"""The figure about the difficulty of clustered batches."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.figures.figure import Drawing
from benchmarks.systems.contextual import embed_in
from cdesearch.context.vectors import Floats
from cdesearch.encode.encoder import Encoder
from trainer.data.batches.cluster import Clusters, cluster_pairs
from trainer.data.batches.pack import pack
from trainer.data.batches.stream import unclustered
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import domain_files

PAIRS = 4096
BATCH = 128
CLUSTERS = (64, 128, 256, 512, 1024, 2048)


def batch_difficulty(pairs: Sequence[Path], encoder: Encoder, work: Path) -> Drawing:
    """Cosine of the hardest negative in a batch minus that of the positive, by cluster size (CDE, figure 6)."""
    series = {}
    for domain in prepare(domain_files(pairs), work / "pairs"):
        rows = np.sort(np.random.default_rng(0).permutation(len(domain))[:PAIRS])
        taken = domain.take(rows.tolist())
        queries, documents = (
            embed_in(None, texts, "document", encoder, work)
            for texts in ([pair.query for pair in taken], [pair.document for pair in taken])
        )
        points = [(float(len(taken)), _hardest(unclustered(len(taken)), queries, documents))]
        points += [
            (float(size), _hardest(cluster_pairs(queries, documents, size, 0), queries, documents))
            for size in CLUSTERS
            if size < len(taken)
        ]
        series[domain.name] = sorted(points)
    title = f"Batches of {BATCH} by cluster size; the rightmost point is for random batches"
    y = "cosine of the hardest negative minus that of the positive"
    return Drawing("difficulty", title, "pairs of a cluster", y, series, log_x=True)


def _hardest(clusters: Clusters, queries: Floats, documents: Floats) -> float:
    margins = []
    for batch in pack({"": clusters}, BATCH, "random", 0, 0):
        scores = queries[batch.rows] @ documents[batch.rows].T
        own = scores.diagonal().copy()
        np.fill_diagonal(scores, -1)
        margins.append(float((scores.max(axis=1) - own).mean()))
    return float(np.mean(margins))
