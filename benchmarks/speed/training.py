"""The command that measures training steps, their memory, a step of sentence-transformers, and clustering."""

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from benchmarks.measurement import RESULTS, Measurement, chosen, measure
from benchmarks.speed.turns import in_turns
from benchmarks.systems.biencoder import installed_minilm

if TYPE_CHECKING:
    from benchmarks.speed.trainee import Trainee
    from trainer.data.training_batch import Batch

# Takes one step with a batch from a file, in a process of its own, and prints its peak memory in bytes.
_PEAK = (
    "import pickle, sys\n"
    "from pathlib import Path\n"
    "from benchmarks.machine import peak_memory\n"
    "from benchmarks.speed.trainee import Trainee\n"
    "trainee = Trainee(Path(sys.argv[1]), contextual=False)\n"
    "with open(sys.argv[2], 'rb') as file:\n"
    "    batch = pickle.load(file)\n"
    "trainee.step(batch)\n"
    "print(peak_memory())\n"
)
# Clusters and packs domains of unit vectors around centres; prints seconds and peak bytes.
_CLUSTERING = (
    "import sys, time\n"
    "from benchmarks.machine import peak_memory\n"
    "from benchmarks.speed.training import scattered\n"
    "from trainer.data.batches.cluster import cluster_pairs\n"
    "from trainer.data.batches.pack import pack\n"
    "domains, pairs, size = map(int, sys.argv[1:])\n"
    "started, clusters = time.perf_counter(), {}\n"
    "for number in range(domains):\n"
    "    clusters[str(number)] = cluster_pairs(*scattered(pairs, number), size, 0)\n"
    "clustered = time.perf_counter()\n"
    "pack(clusters, size, 'tour', 0, 0)\n"
    "done = time.perf_counter()\n"
    "print(clustered - started, done - clustered, peak_memory())\n"
)


def train_speed(
    pairs: Annotated[Path, typer.Argument(help="Pair file to take batches from.")],
    biencoder: Annotated[Path | None, typer.Option(help="all-MiniLM-L6-v2 folder; default: the installed one.")] = None,
    size: Annotated[int, typer.Option(help="Pairs in a batch, as in recipes/small.toml.")] = 256,
    context_size: Annotated[int, typer.Option(help="Documents of context in a step.")] = 64,
    rounds: Annotated[int, typer.Option(help="Steps of each kind, in turns; the result is their median.")] = 3,
    micro_batch: Annotated[int, typer.Option(help="Texts in a micro-batch of `rate`; a GPU can take more.")] = 32,
    only: Annotated[str, typer.Option(help="Any of steps, memory, clustering, rate.")] = "steps,memory,clustering",
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure training steps, their memory and the clustering against their targets, and the rate in bf16."""
    from benchmarks.speed.train_rate import rate_measurements
    from benchmarks.speed.trainee import MAX_TOKENS

    model = biencoder or installed_minilm()
    suites: dict[str, Callable[[], list[Measurement]]] = {
        "steps": lambda: _step_measurements(pairs, model, size, context_size, rounds),
        "memory": lambda: _memory_measurements(pairs, model),
        "clustering": _clustering_measurements,
        "rate": lambda: rate_measurements(pairs, model, size, context_size, micro_batch, rounds),
    }
    settings = {"pairs": pairs.name, "size": size, "context_size": context_size, "max_tokens": MAX_TOKENS}
    measure("train", chosen(suites, only), settings, out)


def scattered(n: int, seed: int, d: int = 384) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(n, d) unit vectors of queries and of documents, each pair near one of a hundred centres."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((100, d), np.float32)[random.integers(100, size=n)]
    near = (centres + random.standard_normal((n, d), np.float32) for _ in range(2))
    queries, documents = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in near)
    return queries, documents


def _step_measurements(pairs: Path, model: Path, size: int, context_size: int, rounds: int) -> list[Measurement]:
    from benchmarks.speed.trainee import Trainee, read_batch

    batch = read_batch(pairs, model, size, context_size)
    biencoder = Trainee(model, contextual=False)
    joint = Trainee(model, contextual=True, attention="joint")
    runs: dict[str, Callable[[], None]] = {
        "biencoder": lambda: biencoder.step(batch),
        "biencoder, plain": lambda: biencoder.plain_step(batch),
        "cached, first stage frozen": _stepping(Trainee(model, contextual=True, frozen=True), batch),
        "cached": _stepping(Trainee(model, contextual=True), batch),
        "joint": lambda: joint.step(batch),
        "sentence-transformers": _peer(pairs, model, size),
    }
    took = in_turns(runs, rounds)
    plain = took["biencoder"]
    return [
        Measurement("biencoder step", size / plain, "pairs/s", detail=took),
        Measurement(
            "cached context, first stage frozen", took["cached, first stage frozen"] / plain, "times", at_most=1.3
        ),
        Measurement("cached context, first stage trained", took["cached"] / plain, "times", at_most=1.3),
        Measurement("joint context, first stage trained", took["joint"] / plain, "times"),
        Measurement("gradient cache against plain step", plain / took["biencoder, plain"], "times", at_most=1.7),
        Measurement("against CachedMultipleNegatives", took["sentence-transformers"] / plain, "times", at_least=1.0),
    ]


def _memory_measurements(pairs: Path, model: Path) -> list[Measurement]:
    """Peak memory of a step by batch size.

    A pair needs 6 kB for vectors and gradients, 12 kB during the loss, and 3 kB for tokens; in a batch of 4096 also
    4 kB for the mask of false negatives.
    """
    peaks = {size: _peak(pairs, model, size) for size in (256, 1024, 4096)}
    growth = 1000 * (peaks[4096] - peaks[256]) / (4096 - 256)
    return [
        Measurement("memory a pair adds, batch 256 to 4096", growth, "kB", detail={"peak_megabytes": peaks}),
        Measurement("peak memory, batch of 256", peaks[256], "MB"),
        Measurement("peak memory, batch of 4096", peaks[4096], "MB"),
    ]


def _peak(pairs: Path, model: Path, size: int) -> float:
    """The peak memory of a process that takes one step, in megabytes."""
    from benchmarks.speed.trainee import read_batch

    with tempfile.NamedTemporaryFile() as file:
        pickle.dump(read_batch(pairs, model, size), file)
        file.flush()
        command = [sys.executable, "-c", _PEAK, str(model), file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e6


def _clustering_measurements() -> list[Measurement]:
    """Cluster and pack ten domains of 20,000 pairs, in clusters of 512."""
    command = [sys.executable, "-c", _CLUSTERING, "10", "20000", "512"]
    clustering, packing, peak = map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())
    return [
        Measurement("clustering 200,000 pairs of 10 domains", clustering / 60, "minutes"),
        Measurement("packing them", packing, "s"),
        Measurement("peak memory of both", peak / 1e6, "MB"),
    ]


def _peer(pairs: Path, model: Path, size: int) -> Callable[[], None]:
    """A step with the cached loss of sentence-transformers on the same texts, truncated to the same length."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import CachedMultipleNegativesRankingLoss

    from benchmarks.speed.trainee import MAX_TOKENS, MICRO_BATCH, RATE, first_pairs

    student: Any = SentenceTransformer(str(model), device="cpu")
    student.max_seq_length = MAX_TOKENS
    student[0].auto_model.embeddings.word_embeddings.requires_grad_(False)  # as in this project
    loss = CachedMultipleNegativesRankingLoss(student, mini_batch_size=MICRO_BATCH)
    optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], RATE)
    rows = first_pairs(pairs, size)
    columns = [[query for query, _ in rows], [document for _, document in rows]]

    def step() -> None:
        optimizer.zero_grad()
        loss([student.tokenize(column) for column in columns], torch.empty(0)).backward()
        optimizer.step()

    return step


def _stepping(trainee: "Trainee", batch: "Batch") -> Callable[[], None]:
    return lambda: trainee.step(batch)
