"""What does training cost? Steps against each other, memory, a peer's loop, clustering; side by side in one run."""

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from benchmarks.figures import RESULTS, Figure, chosen, measure
from benchmarks.speed import installed_minilm
from benchmarks.turns import in_turns

if TYPE_CHECKING:
    from torch import Tensor

    from cdesearch.model.contextual import ContextualModel
    from trainer.batch import Batch

MAX_TOKENS = 64
MICRO_BATCH = 32
TEMPERATURE = 0.05
RATE = 2e-5

# Takes one step with a batch from a file, in a process of its own, and prints its peak memory in bytes.
_PEAK = (
    "import pickle, sys\n"
    "from pathlib import Path\n"
    "from benchmarks.machine import peak_memory\n"
    "from benchmarks.train_speed import Trainee\n"
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
    "from benchmarks.train_speed import scattered\n"
    "from trainer.cluster import cluster_pairs\n"
    "from trainer.pack import pack\n"
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
    size: Annotated[int, typer.Option(help="Pairs of a batch; as in recipes/small.toml.")] = 256,
    context_size: Annotated[int, typer.Option(help="Documents of context in a step.")] = 64,
    rounds: Annotated[int, typer.Option(help="Steps of each, in turns; medians count.")] = 3,
    only: Annotated[str, typer.Option(help="Of: steps, memory, clustering.")] = "steps,memory,clustering",
    out: Annotated[Path, typer.Option(help="Folder for the JSON.")] = RESULTS,
) -> None:
    """Measure training steps, their memory and the clustering against their bars."""
    model = biencoder or installed_minilm()
    suites: dict[str, Callable[[], list[Figure]]] = {
        "steps": lambda: _step_figures(pairs, model, size, context_size, rounds),
        "memory": lambda: _memory_figures(pairs, model),
        "clustering": _clustering_figures,
    }
    settings = {"pairs": pairs.name, "size": size, "context_size": context_size, "max_tokens": MAX_TOKENS}
    measure("train", chosen(suites, only), settings, out)


class Trainee:
    """A start model with its optimizer, and one step of it."""

    def __init__(self, start: Path, *, contextual: bool, attention: str = "cached", frozen: bool = False) -> None:
        import torch

        from trainer.gradcache import GradCache
        from trainer.recipe import ModelChoice
        from trainer.statistics_head import StatisticsHead
        from trainer.train import starting_model

        choice = {"start": start, "contextual": contextual, "context_attention": attention}
        self.model = starting_model(ModelChoice.model_validate({**choice, "freeze_first_stage": frozen}))
        self.head = StatisticsHead(self.model.config.statistics)
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self._optimizer = torch.optim.AdamW(trained, RATE)
        self._cache = GradCache(self.model, self.head, MICRO_BATCH, freeze_first_stage=frozen)
        self._contextual = contextual

    def step(self, batch: "Batch") -> None:
        """By the gradient cache."""
        batch = self._own(batch)
        self._optimizer.zero_grad(set_to_none=True)
        self._cache.step(batch, _equal_weights(self.model), self._judge(batch))
        self._optimizer.step()

    def plain_step(self, batch: "Batch") -> None:
        """The whole graph at once."""
        from trainer.watch import embed, hold

        batch = self._own(batch)
        self._optimizer.zero_grad(set_to_none=True)
        context = batch.documents.take(batch.context) if batch.is_contextual else None
        table = _equal_weights(self.model)()
        held = hold(self.model, context, len(batch.documents), table.device)
        queries, documents = (
            embed(self.model, tokens, held, table, len(tokens)) for tokens in (batch.queries, batch.documents)
        )
        self._judge(batch)(queries, documents, documents[batch.context]).loss.backward()
        self._optimizer.step()

    def _own(self, batch: "Batch") -> "Batch":
        """Without context, every slot is null."""
        return batch if self._contextual else replace(batch, is_null=batch.is_null | True)

    def _judge(self, batch: "Batch") -> Any:
        from torch.nn.functional import normalize

        from trainer.loss import contrastive

        def judge(queries: "Tensor", documents: "Tensor", context: "Tensor") -> Any:
            if self._contextual:
                queries, documents = self.head(queries, context), self.head(documents, context)
            else:
                queries, documents = normalize(queries, dim=-1), normalize(documents, dim=-1)
            return contrastive(queries, documents, batch.excluded, TEMPERATURE)

        return judge


def read_batch(pairs: Path, model: Path, size: int, context_size: int = 1) -> "Batch":
    """The first `size` pairs of a file as one batch; the first documents are its context."""
    import torch

    from cdesearch.encoder import load_tokenizer
    from trainer.batch import Batch, tokenize

    rows = _first_pairs(pairs, size)
    tokenizer = load_tokenizer(model / "tokenizer.json")
    return Batch(
        queries=tokenize(tokenizer, [query for query, _ in rows], "", MAX_TOKENS),
        documents=tokenize(tokenizer, [document for _, document in rows], "", MAX_TOKENS),
        context=torch.arange(context_size),
        is_null=torch.zeros(context_size, dtype=torch.bool),
        excluded=torch.zeros(len(rows), len(rows), dtype=torch.bool),
    )


def scattered(n: int, seed: int, d: int = 384) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(n, d) unit vectors of queries and documents, each pair near one of a hundred centres."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((100, d), np.float32)[random.integers(100, size=n)]
    near = (centres + random.standard_normal((n, d), np.float32) for _ in range(2))
    queries, documents = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in near)
    return queries, documents


def _step_figures(pairs: Path, model: Path, size: int, context_size: int, rounds: int) -> list[Figure]:
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
        Figure("biencoder step", size / plain, "pairs/s", detail=took),
        Figure("cached context, first stage frozen", took["cached, first stage frozen"] / plain, "times", at_most=1.3),
        Figure("cached context, first stage trained", took["cached"] / plain, "times", at_most=1.3),
        Figure("joint context, first stage trained", took["joint"] / plain, "times"),
        Figure("gradient cache against plain step", plain / took["biencoder, plain"], "times", at_most=1.7),
        Figure("against CachedMultipleNegatives", took["sentence-transformers"] / plain, "times", at_least=1.0),
    ]


def _memory_figures(pairs: Path, model: Path) -> list[Figure]:
    """Peak memory of a step by batch size.

    A pair brings its vectors and their gradients, 6 kB; the batch itself brings tokens, 4 kB, and the mask of false
    negatives, 4 kB in a batch of 4096.
    """
    peaks = {size: _peak(pairs, model, size) for size in (256, 1024, 4096)}
    growth = 1000 * (peaks[4096] - peaks[256]) / (4096 - 256)
    return [
        Figure("memory a pair adds, batch 256 to 4096", growth, "kB", detail={"peak_megabytes": peaks}),
        Figure("peak memory, batch of 256", peaks[256], "MB"),
        Figure("peak memory, batch of 4096", peaks[4096], "MB"),
    ]


def _peak(pairs: Path, model: Path, size: int) -> float:
    """Megabytes of a process that takes one step."""
    with tempfile.NamedTemporaryFile() as file:
        pickle.dump(read_batch(pairs, model, size), file)
        file.flush()
        command = [sys.executable, "-c", _PEAK, str(model), file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e6


def _clustering_figures() -> list[Figure]:
    """Ten domains of 20,000 pairs into clusters of 512 and batches."""
    command = [sys.executable, "-c", _CLUSTERING, "10", "20000", "512"]
    clustering, packing, peak = map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())
    return [
        Figure("clustering 200,000 pairs of 10 domains", clustering / 60, "minutes"),
        Figure("packing them", packing, "s"),
        Figure("peak memory of both", peak / 1e6, "MB"),
    ]


def _peer(pairs: Path, model: Path, size: int) -> Callable[[], None]:
    """A step of sentence-transformers' cached loss on the same texts, cut alike."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import CachedMultipleNegativesRankingLoss

    student: Any = SentenceTransformer(str(model), device="cpu")
    student.max_seq_length = MAX_TOKENS
    student[0].auto_model.embeddings.word_embeddings.requires_grad_(False)  # as ours
    loss = CachedMultipleNegativesRankingLoss(student, mini_batch_size=MICRO_BATCH)
    optimizer = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], RATE)
    rows = _first_pairs(pairs, size)
    columns = [[query for query, _ in rows], [document for _, document in rows]]

    def step() -> None:
        optimizer.zero_grad()
        loss([student.tokenize(column) for column in columns], torch.empty(0)).backward()
        optimizer.step()

    return step


def _first_pairs(pairs: Path, size: int) -> list[tuple[str, str]]:
    from trainer.pairs import prepare

    with tempfile.TemporaryDirectory() as folder:
        found = prepare([pairs], Path(folder))[0].take(list(range(size)))
    return [(pair.query, pair.document) for pair in found]


def _stepping(trainee: Trainee, batch: "Batch") -> Callable[[], None]:
    return lambda: trainee.step(batch)


def _equal_weights(model: "ContextualModel") -> Callable[[], "Tensor"]:
    import torch

    table = torch.ones(model.config.backbone.vocabulary)
    return lambda: table
