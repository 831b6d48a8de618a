"""Train the context head of a checkpoint whose networks read each text alone.

    python -m trainer.head CHECKPOINT trainer/recipes/head.toml [--set section.key=value]...

A head has few parameters and needs many contexts: each step draws a corpus from one to three domains, and a context
from this corpus. First-stage vectors are those of the recipe's start, which CHECKPOINT was trained from. It has not
learned the pairs, so their queries are as hard as those of a new corpus. The held-out domains choose among the steps.
The head is written into the config.json of CHECKPOINT, together with the mean of CHECKPOINT's own vectors over the
other domains.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.reporting import exit_without_torch

if __name__ == "__main__":
    exit_without_torch()  # before the imports below, which need torch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cdesearch.context.context import ContextSample
from cdesearch.context.head import Role
from cdesearch.context.whitening import soft_whitening
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.load import load_encoder
from cdesearch.errors import InputError
from cdesearch.models.config import HeadConfig, ModelConfig, StatisticsConfig
from cdesearch.progress import Display, PlainLines
from trainer.data.pairs.domains import Domain, prepare
from trainer.data.pairs.reading import domain_files
from trainer.data.store import Arrays, digest_of, random_stream, stored
from trainer.loss.heads import TrainedHead
from trainer.recipe import Recipe, load_recipe, parse_override
from trainer.reporting import Parser, reported

TYPICAL = 100  # documents of a domain, of which the typical mean is computed
HALF_AT = 10.0  # texts of a corpus; see `StatisticsConfig.half_at`
CORPUS = 1_200  # documents; a drawn corpus has .5 to 1.2 times as many
MOST_DOMAINS = 3  # of a drawn corpus
ALSO_RIGHT = 0.92  # cosine of whitened vectors above which another document answers the query as well
# The head that is stored is the mean of the trained one and of one that changes nothing, as trained networks are
# averaged with their start: what a domain gains depends on the domain, and half of it loses nowhere much.
SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Corpus:
    """The vectors of a domain, or of a part of several."""

    documents: Tensor  # (n, d)
    queries: Tensor  # (m, d)
    own: Tensor  # (m,) the row of the document of each query

    def whitened(self, statistics: StatisticsConfig) -> "Corpus":
        whitening = soft_whitening(self.documents.numpy(), statistics)
        documents, queries = (torch.from_numpy(whitening.apply(one.numpy())) for one in (self.documents, self.queries))
        return Corpus(documents, queries, self.own)

    def context(self, size: int, random: np.random.Generator) -> Tensor:
        """The vectors (J, d) of at most `size` documents, drawn at random."""
        return self.documents[torch.from_numpy(random.permutation(len(self.documents))[:size])]


@dataclass(frozen=True, slots=True)
class Quality:
    """The mean nDCG@10 x 100 over corpora, by the context that the head attends to."""

    without: float
    own: float
    foreign: float  # that of another corpus

    def __str__(self) -> str:
        return (
            f"{self.without:.2f} without a context, {self.own:.2f} with its own, {self.foreign:.2f} with a foreign one"
        )


def read_domains(recipe: Recipe, display: Display) -> list[Domain]:
    """The domains of the recipe, with the same pairs for every seed."""
    data = recipe.data
    advance = display.stage("Reading pairs", None)
    domains = prepare(domain_files(data.pairs), recipe.run.data_folder, data.keep_out, data.groups, advance)
    return [domain.at_most(data.cap, 0) for domain in domains]


def typical_mean(domains: Sequence[Domain], encoder: Encoder) -> tuple[float, ...]:
    """The mean (d,) of the first-stage vectors of TYPICAL documents of each domain, rounded to four places.

    The mean of a corpus of HALF_AT texts is mixed with it in equal parts.
    """
    means = []
    for domain in domains:
        texts = list(dict.fromkeys(domain.column("document")))
        means.append(encoder.encode(texts[:TYPICAL], "document", _sample(texts, encoder)).mean(axis=0))
    return tuple(np.array(means, np.float64).mean(axis=0).round(4).tolist())


def _sample(texts: Sequence[str], encoder: Encoder) -> ContextSample:
    """A sample without a chunk, with the weights of the tokens of `texts`."""
    nothing = np.zeros((1, encoder.dimension), np.float32)
    return encoder.make_sample(["0"], ["0"], nothing, encoder.count_tokens(texts), 0)


def _corpus(domain: Domain, encoder: Encoder, work: Path) -> Corpus:
    """The first-stage vectors of a domain, which are stored for the next run."""
    rows: dict[str, int] = {}
    own = [rows.setdefault(text, len(rows)) for text in domain.column("document")]
    texts: dict[Role, list[str]] = {"document": list(rows), "query": domain.column("query")}

    def make() -> Arrays:
        sample = _sample(texts["document"], encoder)
        return {role: encoder.encode(texts[role], role, sample) for role in texts}

    key = digest_of(encoder.fingerprint, str(encoder.config.statistics), texts["document"], texts["query"])
    arrays = stored(work / f"{domain.name}-first-stage-{key}", make)
    documents, queries = (torch.from_numpy(np.array(arrays[role])) for role in texts)
    return Corpus(documents, queries, torch.tensor(own))


def drawn(corpora: Mapping[str, Corpus], n_queries: int, random: np.random.Generator) -> Corpus:
    """A corpus of some documents of one to MOST_DOMAINS domains, with queries for them."""
    n_domains = min(int(random.integers(1, MOST_DOMAINS + 1)), len(corpora))
    parts, n_before = [], 0
    for name in random.choice(sorted(corpora), n_domains, replace=False).tolist():
        corpus = corpora[name]
        n = min(len(corpus.documents), int(CORPUS / n_domains * random.uniform(0.5, 1.2)))
        rows = torch.from_numpy(random.permutation(len(corpus.documents))[:n])
        place = torch.full((len(corpus.documents),), -1).index_copy(0, rows, torch.arange(n))
        asked = torch.nonzero(place[corpus.own] >= 0)[:, 0]
        asked = asked[torch.from_numpy(random.permutation(len(asked))[: n_queries // n_domains])]
        parts.append((corpus.documents[rows], corpus.queries[asked], place[corpus.own[asked]] + n_before))
        n_before += n
    documents, queries, own = (torch.cat(column) for column in zip(*parts, strict=True))
    return Corpus(documents, queries, own)


class Step(nn.Module):
    """The loss of one step; its parameters are those of the head and the temperature."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.head = TrainedHead()
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)))

    def forward(self, corpus: Corpus, context: Tensor) -> Tensor:
        """The cross entropy of each query's own document among the documents that differ from it."""
        scores = self.head(corpus.queries, context, "query") @ self.head(corpus.documents, context, "document").T
        same = corpus.documents[corpus.own] @ corpus.documents.T > ALSO_RIGHT
        same[torch.arange(len(corpus.own)), corpus.own] = False
        scores = (scores / self.log_temperature.exp()).masked_fill(same, -torch.inf)
        return functional.cross_entropy(scores, corpus.own)


def train(
    recipe: Recipe, corpora: Mapping[str, Corpus], statistics: StatisticsConfig, display: Display
) -> tuple[HeadConfig, Quality]:
    """The head of the step that is best on the held-out domains, and its quality there."""
    held_out = [corpora[name].whitened(statistics) for name in recipe.data.held_out_domains]
    trained = {name: corpus for name, corpus in corpora.items() if name not in recipe.data.held_out_domains}
    torch.manual_seed(recipe.run.seed)
    random = random_stream(recipe.run.seed, "head")
    step, n_steps = Step(recipe.learning.temperature), recipe.learning.steps or 0
    optimizer = torch.optim.Adam(step.parameters(), lr=recipe.learning.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    best: tuple[HeadConfig, Quality] | None = None
    advance = display.stage("Training the head", n_steps)
    for number in range(1, n_steps + 1):
        corpus = drawn(trained, recipe.batches.size, random).whitened(statistics)
        loss = step(corpus, corpus.context(recipe.batches.context_size, random))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(step.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        advance(1)
        if number % recipe.run.watch_every == 0 or number == n_steps:
            shared = step.head.shared(SHARE)
            quality = judge(shared, held_out, recipe.batches.context_size)
            display.note(f"Step {number}: loss {loss.item():.3f}, nDCG@10 of held-out domains {quality}.")
            if best is None or quality.own > best[1].own:
                best = shared.config(), quality
    assert best is not None
    return best


@torch.no_grad()
def judge(head: TrainedHead, corpora: Sequence[Corpus], size: int) -> Quality:
    """The quality of a head on whitened corpora, with contexts of `size` documents."""
    contexts = [corpus.context(size, random_stream(0, "judge", number)) for number, corpus in enumerate(corpora)]
    found = []
    for number, corpus in enumerate(corpora):
        row = [ndcg(corpus.queries @ corpus.documents.T, corpus.own)]
        for context in (contexts[number], contexts[number - 1]):
            documents = head(corpus.documents, context, "document")
            row.append(ndcg(head(corpus.queries, context, "query") @ documents.T, corpus.own))
        found.append(row)
    return Quality(*(100 * np.mean(found, axis=0)).tolist())


def ndcg(scores: Tensor, own: Tensor) -> float:
    """The mean nDCG@10 of queries with scores (m, n) and one relevant document each."""
    ranks = (scores > scores.gather(1, own[:, None])).sum(dim=1)
    return float(((ranks < 10) / (ranks + 2.0).log2()).mean())


@reported
def main(arguments: Sequence[str] | None = None) -> int:
    """Train a head and write it; returns the exit code. Every error is one line on stderr."""
    parser = Parser(prog="python -m trainer.head", description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder of the checkpoint that gets the head")
    parser.add_argument("recipe", type=Path, help="TOML file; see trainer/recipes/head.toml")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set section.key of the recipe")
    options = parser.parse_args(arguments)
    recipe = load_recipe(options.recipe, dict(map(parse_override, options.set)))
    config = ModelConfig.load(options.checkpoint)
    start = load_encoder(recipe.model.start).truncated_to(recipe.batches.max_tokens)
    if start.reads_context:
        raise InputError(f"{recipe.model.start} reads a context itself.", "Name a start whose gates are zero.")
    statistics = replace(config.statistics, half_at=0.0)  # the corpora of training are large
    start.config = replace(start.config, statistics=statistics)
    display = PlainLines()
    domains = read_domains(recipe, display)
    advance, corpora = display.stage("First-stage vectors", len(domains)), dict[str, Corpus]()
    for domain in domains:
        corpora[domain.name] = _corpus(domain, start, recipe.run.data_folder)
        advance(1)
    if unknown := sorted(set(recipe.data.held_out_domains) - corpora.keys()):
        raise InputError(f"data.held_out_domains names {unknown[0]}, which is no pair file.", "Correct the recipe.")
    if not 2 <= len(recipe.data.held_out_domains) < len(corpora):
        raise InputError("data.held_out_domains must name two or more domains.", "Train on at least one other.")
    if not recipe.learning.steps:
        raise InputError("The recipe does not say how many steps to train.", "Set learning.steps.")
    head, quality = train(recipe, corpora, statistics, display)
    trained = [domain for domain in domains if domain.name not in recipe.data.held_out_domains]
    mean = typical_mean(trained, load_encoder(options.checkpoint).truncated_to(recipe.batches.max_tokens))
    statistics = replace(statistics, half_at=HALF_AT)
    replace(config, statistics=statistics, context_head=head, typical_mean=mean).save(options.checkpoint)
    print(f"The head is in {options.checkpoint / 'config.json'}: nDCG@10 of held-out domains is {quality}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
