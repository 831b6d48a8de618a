"""Preparing the data of a run: pairs, surrogate scores and clusters, each stored for the next run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.encode.model_tokens import Role
from cdesearch.errors import InputError
from cdesearch.models.contextual.model import ContextualModel
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.batches.cluster import (
    Clusters,
    Stoppable,
    cluster_documents,
    cluster_pairs,
    kept_clusters,
    sparse_vectors,
)
from trainer.data.batches.context_documents import ContextDocuments
from trainer.data.batches.stream import BatchStream, Part, PartContext, split, unclustered
from trainer.data.batches.token_store import DomainTokens, store_tokens
from trainer.data.pairs.domains import Domain, prepare
from trainer.data.pairs.prefixes import Prefixes
from trainer.data.pairs.reading import domain_files, domain_name
from trainer.data.stored import digest_of
from trainer.data.surrogate.model import open_surrogate
from trainer.data.surrogate.scores import Surrogate, surrogate_vectors
from trainer.data.surrogate.word_scores import WordScores, kept_word_scores
from trainer.data.training_batch import Batch
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
    pair_digests: dict[str, str]  # of the pairs of each domain that the run uses
    surrogate_fingerprint: str


def prepare_material(recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer, display: Display) -> Material:
    """Read pairs, compute surrogate vectors and cluster; the results are stored for runs with the same `run.work`."""
    _check_length(recipe, model)
    files = domain_files(recipe.data.pairs, recipe.data.leave_out)
    prefixes = Prefixes.of_recipe(recipe.data, model.config, map(domain_name, files))
    domains = _read_domains(recipe, files, display)
    _check_scores(recipe, domains)
    wanted = recipe.batches.hard_negatives
    if wanted and not any(any(domain.negatives()) for domain in domains.values()):
        display.note(f"No pair has hard negatives, and batches.hard_negatives is {wanted}: run `cdesearch mine`.")
    tokens = _tokens(recipe, tokenizer, prefixes, domains, display)
    with evaluation_mode(model):
        surrogates = _surrogates(recipe, model, tokenizer, domains, display)
    rows = _split(domains, recipe)
    advance = display.stage("Clustering", len(domains))
    parts: dict[str, Part] = {}
    held: dict[str, Part] = {}
    for name, domain in domains.items():
        for chosen, into in zip(rows[name], (parts, held), strict=True):
            if len(chosen) >= recipe.batches.size:
                taken, known = Domain(name, domain.pairs.take(chosen)), surrogates[name].take(chosen)
                into[name] = Part(taken, tokens[name].take(chosen), known, _clusters(recipe, taken, known, advance))
        advance(1)
    contexts = _contexts(recipe, held | parts)
    stream = BatchStream(recipe, parts, contexts)
    held_out: list[Batch] = []
    if held:
        other = BatchStream(replace(recipe, data=replace(recipe.data, weights={})), held, contexts)
        batches = [other.batch(step) for step in range(min(WATCHED_BATCHES, other.steps_per_epoch))]
        in_context = [batch for batch in batches if batch.context_tokens is not None or not contexts]
        held_out = [batch.without_null_slots() for batch in in_context]
    elif recipe.data.held_out:
        display.note(f"There are no held-out losses: no domain holds out a batch of {recipe.batches.size} pairs.")
    texts = [text for part in parts.values() for text in part.domain.column("document")[:OUT_OF_DOMAIN_TEXTS]]
    texts = texts[:: max(1, len(texts) // OUT_OF_DOMAIN_TEXTS)][:OUT_OF_DOMAIN_TEXTS]
    digests = {name: _digest(recipe, domain) for name, domain in domains.items()}
    fingerprint = next((one.fingerprint for one in surrogates.values()), "")
    return Material(stream, held_out, prefixes, texts, digests, fingerprint)


def _read_domains(recipe: Recipe, files: Sequence[Path], display: Display) -> dict[str, Domain]:
    """The domains that have enough pairs for a batch, by name."""
    advance = display.stage("Reading pairs", None)
    domains: dict[str, Domain] = {}
    for domain in prepare(files, recipe.run.data_folder, recipe.data.keep_out, recipe.data.groups, advance):
        dropped = ", ".join(f"{reason} ({count:,})" for reason, count in domain.dropped.items())
        if len(domain) < recipe.batches.size:
            display.note(f"{domain.name} is left out: it has {counted(len(domain), 'pair')}, fewer than a batch.")
        else:
            domains[domain.name] = domain.at_most(recipe.data.cap, recipe.run.seed)
        if dropped:
            display.note(f"Left out of {domain.name}: {dropped}.")
    return domains


def _check_scores(recipe: Recipe, domains: Mapping[str, Domain]) -> None:
    """Raise InputError if the teacher's scores are to come from pairs that have none."""
    if recipe.objective.teacher == "pairs" and recipe.learning.teacher_weight:
        for name, domain in domains.items():
            if not domain.is_scored():
                raise InputError(
                    f"{name} has pairs without `scores`, and objective.teacher is pairs.",
                    "Score all pairs, or leave objective.teacher out.",
                )


def _check_length(recipe: Recipe, model: ContextualModel) -> None:
    """Raise InputError if texts have more tokens than the model has positions."""
    limit = model.config.backbone.n_positions
    if recipe.batches.max_tokens > limit:
        raise InputError(
            f"batches.max_tokens is {recipe.batches.max_tokens}, but {recipe.model.start} has {limit} positions.",
            f"Set batches.max_tokens to {limit} or less.",
        )


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


def _contexts(recipe: Recipe, parts: Mapping[str, Part]) -> dict[str, PartContext] | None:
    """The documents that can be context, if the recipe asks for a disjoint context and the model reads it.

    Held-out batches use the documents of their domain's training part, because a domain often holds out no more than
    one batch.
    """
    if recipe.batches.context == "batch" or not (recipe.model.contextual and recipe.model.gated_attention):
        return None
    return {
        name: PartContext(
            ContextDocuments(part.domain.column("document"), part.surrogate.documents, part.clusters),
            part.tokens.documents,
        )
        for name, part in parts.items()
    }


def _tokens(
    recipe: Recipe, tokenizer: Tokenizer, prefixes: Prefixes, domains: dict[str, Domain], display: Display
) -> dict[str, DomainTokens]:
    folder, limit = recipe.run.data_folder / "tokens", recipe.batches.max_tokens
    negatives = {name: _negatives(recipe, domain) for name, domain in domains.items()}
    advance = display.stage("Tokenizing", _n_texts(negatives))
    tokens = {}
    for name, domain in domains.items():
        query, document = prefixes.of(name)
        texts = [text for row in negatives[name] for text in row]
        tokens[name] = DomainTokens(
            store_tokens(folder / f"{name}-query", domain.column("query"), tokenizer, query, limit, advance),
            store_tokens(folder / f"{name}-document", domain.column("document"), tokenizer, document, limit, advance),
            store_tokens(folder / f"{name}-negatives", texts, tokenizer, document, limit, advance),
        )
    return tokens


def _n_texts(negatives: Mapping[str, list[list[str]]]) -> int:
    """How many queries, documents and hard negatives all domains have together."""
    return sum(2 * len(rows) + sum(map(len, rows)) for rows in negatives.values())


def _digest(recipe: Recipe, domain: Domain) -> str:
    columns = [domain.column(name) for name in ("query", "document", "document_id")]
    scores = domain.pairs.column("scores") if recipe.objective.teacher == "pairs" else []
    lists = (*columns, *_negatives(recipe, domain), *scores)
    return digest_of(text for texts in lists for text in (str(len(texts)), *texts))


def _negatives(recipe: Recipe, domain: Domain) -> list[list[str]]:
    """The hard negatives of every pair that the recipe uses."""
    return [row[: recipe.batches.hard_negatives] for row in domain.negatives()]


def _surrogates(
    recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer, domains: dict[str, Domain], display: Display
) -> dict[str, Surrogate]:
    encoder = _surrogate_encoder(recipe, model, tokenizer)
    cache = recipe.run.data_folder / "surrogate"
    negatives = {name: _negatives(recipe, domain) for name, domain in domains.items()}
    needs_vectors = _needs_vectors(recipe)
    advance = display.stage("Surrogate vectors", _n_texts(negatives) if needs_vectors else 0)

    def vectors(name: str, texts: list[str], role: Role) -> Floats:
        if not needs_vectors:
            return np.zeros((len(texts), 1), np.float32)
        return surrogate_vectors(name, texts, role, encoder, cache, advance)

    def lexical(name: str, domain: Domain) -> WordScores | None:
        if recipe.batches.filter not in ("text", "fused") and not _has_surrogate_teacher(recipe):
            return None
        texts = [*domain.column("document"), *(text for row in negatives[name] for text in row)]
        return kept_word_scores(recipe.run.data_folder / "words" / name, texts, advance)

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


def _needs_vectors(recipe: Recipe) -> bool:
    """Whether anything reads the surrogate's vectors: the filter, the teacher, clusters, or a context from clusters."""
    batches = recipe.batches
    in_clusters = (batches.clustered and not batches.sparse) or batches.by_document or batches.context == "cluster"
    return batches.filter in ("dense", "fused") or in_clusters or _has_surrogate_teacher(recipe)


def _has_surrogate_teacher(recipe: Recipe) -> bool:
    return bool(recipe.learning.teacher_weight) and recipe.objective.teacher == "surrogate"


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


def _clusters(recipe: Recipe, domain: Domain, known: Surrogate, advance: Callable[[int], object]) -> Clusters:
    if recipe.batches.by_document and any(ids := domain.column("document_id")):
        return cluster_documents(ids, known.queries, known.documents)
    if not recipe.batches.clustered:
        return unclustered(len(domain))
    batches, seed = recipe.batches, recipe.run.seed
    columns = domain.column("query"), domain.column("document")

    def make(parts: Path) -> Clusters:
        vectors = known.queries, known.documents
        if batches.sparse:
            vectors = sparse_vectors(*columns, batches.components or SPARSE_COMPONENTS, seed)
        return cluster_pairs(*vectors, batches.cluster_size, seed, batches.components, Stoppable(parts, advance))

    source = "sparse" if batches.sparse else known.fingerprint
    settings = f"{len(domain)} {batches.cluster_size} {seed} {batches.components} {source}"
    made_from = [settings, *columns[0], *columns[1]]
    return kept_clusters(recipe.run.data_folder / "clusters", made_from, len(domain), make)
