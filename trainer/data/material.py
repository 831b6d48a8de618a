"""Preparing the data of a run: pairs, surrogate scores and clusters, each stored for the next run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder, Role
from cdesearch.errors import InputError
from cdesearch.models.contextual.model import ContextualModel
from cdesearch.progress import Display
from trainer.data.cluster import Clusters, cluster_documents, cluster_pairs, kept_clusters, sparse_vectors
from trainer.data.context_documents import ContextDocuments
from trainer.data.pairs import Domain, domain_files, domain_name, prepare
from trainer.data.prefixes import Prefixes
from trainer.data.stream import BatchStream, split, unclustered
from trainer.data.surrogate import Surrogate, surrogate_vectors
from trainer.data.surrogate_model import open_surrogate
from trainer.data.training_batch import Batch
from trainer.data.word_scores import WordScores, fit_word_scores
from trainer.execution.evaluation_mode import evaluation_mode
from trainer.recipe import Recipe
from trainer.start import is_published, start_model

WATCHED_BATCHES = 16
OUT_OF_DOMAIN_TEXTS = 2000  # training documents that form the random context of an evaluation
SPARSE_COMPONENTS = 128


@dataclass(frozen=True, slots=True)
class Material:
    """Training batches, held-out batches, prefixes, and texts of another corpus."""

    stream: BatchStream
    held_out: list[Batch]
    prefixes: Prefixes
    out_of_domain_texts: list[str]


def prepare_material(recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer, display: Display) -> Material:
    """Read pairs, compute surrogate vectors and cluster; the results are stored for runs with the same `run.work`."""
    _check_length(recipe, model)
    files = domain_files(recipe.data.pairs, recipe.data.leave_out)
    prefixes = Prefixes.of_recipe(recipe.data, model.config, map(domain_name, files))
    domains = _read_domains(recipe, files, display)
    with evaluation_mode(model):
        surrogates = _surrogates(recipe, model, tokenizer, domains, display)
    training: dict[str, Clusters] = {}
    watched: dict[str, Clusters] = {}
    rows = _split(domains, recipe)
    advance = display.stage("Clustering", len(domains))
    parts: dict[str, tuple[Domain, Surrogate]] = {}
    held: dict[str, tuple[Domain, Surrogate]] = {}
    for name, domain in domains.items():
        for chosen, into, clusters in ((rows[name][0], parts, training), (rows[name][1], held, watched)):
            if len(chosen) >= recipe.batches.size:
                taken = Domain(name, domain.pairs.take(chosen))
                into[name] = taken, surrogates[name].take(chosen)
                clusters[name] = _clusters(recipe, taken, into[name][1])
        advance(1)
    contexts = _contexts(recipe, held, watched) | _contexts(recipe, parts, training)
    stream = _stream(recipe, parts, training, tokenizer, prefixes, contexts)
    held_out: list[Batch] = []
    if held:
        other = _stream(recipe, held, watched, tokenizer, prefixes, contexts)
        batches = [other.batch(step) for step in range(min(WATCHED_BATCHES, other.steps_per_epoch))]
        known = [batch for batch in batches if batch.context_tokens is not None or not contexts]
        held_out = [batch.without_null_slots() for batch in known]
    elif recipe.data.held_out:
        display.note(f"There are no held-out losses: no domain holds out a batch of {recipe.batches.size} pairs.")
    texts = [text for domain, _ in parts.values() for text in domain.column("document")[:OUT_OF_DOMAIN_TEXTS]]
    texts = texts[:: max(1, len(texts) // OUT_OF_DOMAIN_TEXTS)][:OUT_OF_DOMAIN_TEXTS]
    return Material(stream, held_out, prefixes, texts)


def _read_domains(recipe: Recipe, files: Sequence[Path], display: Display) -> dict[str, Domain]:
    """The domains that have enough pairs for a batch, by name."""
    advance = display.stage("Reading pairs", len(files))
    domains: dict[str, Domain] = {}
    for domain in prepare(files, _work(recipe), recipe.data.keep_out, recipe.data.groups):
        advance(1)
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in domain.dropped.items())
        if len(domain) < recipe.batches.size:
            display.note(f"{domain.name} is left out: {len(domain)} pairs are fewer than a batch.")
        else:
            domains[domain.name] = domain.at_most(recipe.data.cap, recipe.run.seed)
        if dropped:
            display.note(f"{domain.name}: left out {dropped}.")
    return domains


def _check_length(recipe: Recipe, model: ContextualModel) -> None:
    """Raise InputError if texts have more tokens than the model has positions."""
    limit = model.config.backbone.n_positions
    if recipe.batches.max_tokens > limit:
        raise InputError(
            f"batches.max_tokens is {recipe.batches.max_tokens}, but {recipe.model.start} has {limit} positions.",
            f"Set batches.max_tokens to {limit} or less.",
        )


def _work(recipe: Recipe) -> Path:
    return recipe.run.work or recipe.run.out / "data"


def _split(domains: dict[str, Domain], recipe: Recipe) -> dict[str, tuple[Sequence[int], Sequence[int]]]:
    """Rows of each domain to train on and rows held out; raises InputError if a domain to hold out is missing."""
    chosen = recipe.data.held_out_domains
    if not chosen:
        return {name: split(domain, recipe.data.held_out, recipe.run.seed) for name, domain in domains.items()}
    if missing := sorted(set(chosen) - set(domains)):
        raise InputError(
            f"data.held_out_domains names {', '.join(missing)}, which data.pairs does not have or which is too small.",
            f"Name some of: {', '.join(domains)}.",
        )
    whole = {name: range(len(domain)) for name, domain in domains.items()}
    return {name: ((), rows) if name in chosen else (rows, ()) for name, rows in whole.items()}


def _stream(
    recipe: Recipe,
    parts: dict[str, tuple[Domain, Surrogate]],
    clusters: dict[str, Clusters],
    tokenizer: Tokenizer,
    prefixes: Prefixes,
    contexts: dict[str, ContextDocuments],
) -> BatchStream:
    domains = {name: domain for name, (domain, _) in parts.items()}
    surrogates = {name: surrogate for name, (_, surrogate) in parts.items()}
    return BatchStream(recipe, domains, surrogates, clusters, tokenizer, prefixes, contexts or None)


def _contexts(
    recipe: Recipe, parts: dict[str, tuple[Domain, Surrogate]], clusters: dict[str, Clusters]
) -> dict[str, ContextDocuments]:
    """The documents that can be context, if the recipe asks for a disjoint context and the model reads it.

    Held-out batches use the documents of their domain's training part, because a domain often holds out no more than
    one batch.
    """
    if recipe.batches.context == "batch" or not (recipe.model.contextual and recipe.model.gated_attention):
        return {}
    return {
        name: ContextDocuments(domain, surrogate.documents, clusters[name])
        for name, (domain, surrogate) in parts.items()
    }


def _surrogates(
    recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer, domains: dict[str, Domain], display: Display
) -> dict[str, Surrogate]:
    encoder = _surrogate_encoder(recipe, model, tokenizer)
    cache = _work(recipe) / "surrogate"
    negatives = {
        name: [row[: recipe.batches.hard_negatives] for row in domain.negatives()] for name, domain in domains.items()
    }
    n_texts = sum(2 * len(rows) + sum(map(len, rows)) for rows in negatives.values())
    advance = display.stage("Surrogate vectors", n_texts)

    def vectors(name: str, texts: list[str], role: Role) -> Floats:
        return surrogate_vectors(name, texts, role, encoder, cache, advance)

    def lexical(name: str, domain: Domain) -> WordScores | None:
        if recipe.batches.filter not in ("text", "fused") and not recipe.learning.teacher_weight:
            return None
        return fit_word_scores([*domain.column("document"), *(text for row in negatives[name] for text in row)])

    return {
        name: Surrogate(
            queries=vectors(name, domain.column("query"), "query"),
            documents=vectors(name, domain.column("document"), "document"),
            negatives=vectors(name, [text for row in negatives[name] for text in row], "document"),
            first_negative=np.cumsum([0, *map(len, negatives[name])])[:-1],
            lexical=lexical(name, domain),
            fingerprint=encoder.fingerprint,
        )
        for name, domain in domains.items()
    }


def _surrogate_encoder(recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer) -> Encoder:
    """The frozen surrogate: any model that `load_encoder` opens, or the start."""
    folder, limit = recipe.run.surrogate, recipe.batches.max_tokens
    if folder is not None:
        return open_surrogate(folder, next(model.parameters()).device).truncated_to(limit)
    frozen = start_model(recipe.model.start) if is_published(recipe.model.start) else model
    device = next(model.parameters()).device
    config = replace(frozen.config, max_tokens=limit)
    fingerprint = f"{frozen.weights_hash()} {limit}{config.query_prefix}{config.document_prefix}"
    return Encoder(config, tokenizer, TorchRuntime(frozen, device), fingerprint)


def _clusters(recipe: Recipe, domain: Domain, known: Surrogate) -> Clusters:
    if recipe.batches.by_document and any(ids := domain.column("document_id")):
        return cluster_documents(ids, known.queries, known.documents)
    if not recipe.batches.clustered:
        return unclustered(len(domain))
    batches, seed = recipe.batches, recipe.run.seed
    columns = domain.column("query"), domain.column("document")

    def make() -> Clusters:
        vectors = known.queries, known.documents
        if batches.sparse:
            vectors = sparse_vectors(*columns, batches.components or SPARSE_COMPONENTS, seed)
        return cluster_pairs(*vectors, batches.cluster_size, seed, batches.components)

    source = "sparse" if batches.sparse else known.fingerprint
    settings = f"{len(domain)} {batches.cluster_size} {seed} {batches.components} {source}"
    return kept_clusters(_work(recipe) / "clusters", [settings, *columns[0], *columns[1]], make)
