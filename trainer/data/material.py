"""Preparing the data of a run: pairs, tokens, surrogate scores and clusters, each stored for the next run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from cdesearch.context.head import Role
from cdesearch.context.vectors import Floats
from cdesearch.encode.backends.torch import TorchRuntime
from cdesearch.encode.encoder import Encoder
from cdesearch.errors import InputError
from cdesearch.models.contextual.model import ContextualModel
from cdesearch.progress import Display
from cdesearch.terminal import counted
from trainer.data.batches.cluster import Clusters, cluster_documents, cluster_pairs
from trainer.data.batches.stream import BatchStream, ContextDocuments, DomainData, Part
from trainer.data.pairs.domains import Domain, prepare
from trainer.data.pairs.reading import domain_files
from trainer.data.store import Arrays, Integers, Rows, digest_of, random_stream, stored, stored_in_blocks
from trainer.data.surrogate import PairVectors, Surrogate, WordScores, open_surrogate, surrogate_vectors
from trainer.data.training_batch import Batch, token_rows
from trainer.execution import evaluation_mode
from trainer.recipe import Recipe
from trainer.start import is_published, start_model

WATCHED_BATCHES = 16
SAMPLED_TEXTS = 256  # training documents: the mean of their first-stage vectors is the initial null vector

Advance = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Material:
    """Training batches, held-out batches, and a sample of texts."""

    stream: BatchStream
    held_out: list[Batch]
    texts: list[str]
    digests: dict[str, str]  # of the pairs of each domain that the run uses, and of the surrogate


def prepare_material(recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer, display: Display) -> Material:
    """Read pairs, tokenize, embed and cluster; the results are stored for runs with the same `run.work`."""
    _check_length(recipe, model)
    domains = _read_domains(recipe, display)
    _check_scores(recipe, domains)
    with evaluation_mode(model):
        encoder, *teachers = _encoders(recipe, model, tokenizer)
        prefixes = model.config.query_prefix, model.config.document_prefix
        advance = display.stage("Tokens and surrogate vectors", None)
        embed = partial(_vectors, recipe, encoder, teachers, advance)
        data = {name: _domain_data(recipe, one, tokenizer, prefixes, embed) for name, one in domains.items()}
    if recipe.batches.hard_negatives and not any(len(one.negatives) for one in data.values()):
        most = recipe.batches.hard_negatives
        display.note(f"No pair has hard negatives, and batches.hard_negatives is {most}: run `cdesearch mine`.")
    advance = display.stage("Clustering", len(domains))
    parts: dict[str, Part] = {}
    held: dict[str, Part] = {}
    for name, rows in _split(domains, recipe).items():
        for chosen, into in zip(rows, (parts, held), strict=True):
            if len(chosen) >= recipe.batches.size:
                into[name] = Part(data[name], chosen, _clusters(recipe, data[name], chosen))
        advance(1)
    # The documents that can be context, if the recipe asks for a disjoint context and the model attends to it. Held-out
    # batches use those of their domain's training part, because a domain often holds out no more than one batch.
    is_disjoint = recipe.batches.context != "batch" and recipe.model.attends
    contexts = {name: ContextDocuments(part) for name, part in (held | parts).items()} if is_disjoint else None
    stream = BatchStream(recipe, parts, contexts)
    held_out: list[Batch] = []
    if held:
        watched = BatchStream(recipe, held, contexts)
        batches = [watched.batch(step) for step in range(min(WATCHED_BATCHES, watched.steps_per_epoch))]
        in_context = [batch for batch in batches if batch.context_tokens is not None or not contexts]
        held_out = [replace(batch, is_null=torch.zeros_like(batch.is_null)) for batch in in_context]
    elif recipe.data.held_out:
        display.note(f"There are no held-out losses: no domain holds out a batch of {recipe.batches.size} pairs.")
    texts = [text for part in parts.values() for text in part.texts("document")]
    digests = {f"pairs of {name}": _digest(recipe, domain) for name, domain in domains.items()}
    digests |= {"surrogate": "" if recipe.run.surrogate is None else encoder.fingerprint}
    digests |= {f"teacher {number}": teacher.fingerprint for number, teacher in enumerate(teachers, 1)}
    return Material(stream, held_out, texts[:: max(1, len(texts) // SAMPLED_TEXTS)], digests)


def _read_domains(recipe: Recipe, display: Display) -> dict[str, Domain]:
    """The domains that have enough pairs for a batch, by name."""
    files = domain_files(recipe.data.pairs)
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


def _split(domains: dict[str, Domain], recipe: Recipe) -> dict[str, tuple[Integers, Integers]]:
    """Rows of each domain to train on and rows held out."""
    chosen, nothing = recipe.data.held_out_domains, np.empty(0, np.int64)
    rows = {}
    for name, domain in domains.items():
        if chosen:
            whole = np.arange(len(domain))
            rows[name] = (nothing, whole) if name in chosen else (whole, nothing)
        else:
            order = np.array(domain.shuffled(random_stream(recipe.run.seed, "held out")), np.int64)
            n_held = int(len(domain) * recipe.data.held_out)
            rows[name] = np.sort(order[n_held:]), np.sort(order[:n_held])
    return rows


Columns = Mapping[str, tuple[list[str], Role]]  # the queries, documents and hard negatives of a domain


def _domain_data(
    recipe: Recipe,
    domain: Domain,
    tokenizer: Tokenizer,
    prefixes: tuple[str, str],
    embed: Callable[[str, Columns], Surrogate],
) -> DomainData:
    folder, limit = recipe.run.data_folder, recipe.batches.max_tokens
    negatives, counts = domain.negatives(recipe.batches.hard_negatives)
    columns: Columns = {
        "query": (domain.column("query"), "query"),
        "document": (domain.column("document"), "document"),
        "negatives": (negatives, "document"),
    }
    tokens = {}
    for kind, (texts, role) in columns.items():
        prefix = prefixes[role == "document"]
        name = folder / "tokens" / f"{domain.name}-{kind}"
        tokens[kind] = stored_tokens(name, texts, tokenizer, prefix, limit)
    ends = Rows.of(counts, counts).ends
    surrogate = embed(domain.name, columns)
    return DomainData(domain, ends, tokens["query"], tokens["document"], tokens["negatives"], surrogate)


def _vectors(
    recipe: Recipe, encoder: Encoder, teachers: Sequence[Encoder], advance: Advance, name: str, columns: Columns
) -> Surrogate:
    """The vectors of a domain by the surrogate and the teachers, and its BM25 scores, if the recipe needs them."""
    folder = recipe.run.data_folder

    def of(model: Encoder | None) -> list[Floats]:
        if model is None:
            return [np.zeros((len(texts), 1), np.float32) for texts, _ in columns.values()]
        return [surrogate_vectors(name, *one, model, folder / "surrogate", advance) for one in columns.values()]

    batches, lexical = recipe.batches, None
    is_taught = recipe.learning.teacher_weight and recipe.objective.teacher == "surrogate"
    if batches.filter in ("text", "fused") or is_taught:
        texts = [*columns["document"][0], *columns["negatives"][0]]
        lexical = WordScores.stored(folder / "words" / name, texts)
    further = tuple(PairVectors(*of(teacher)) for teacher in teachers)
    in_clusters = batches.clusters != "none" or batches.context == "cluster"
    is_read = batches.filter in ("dense", "fused") or in_clusters or is_taught
    queries, documents, negatives = of(encoder if is_read else None)
    return Surrogate(queries, documents, negatives, lexical, encoder.fingerprint, further)


def stored_tokens(name: Path, texts: Sequence[str], tokenizer: Tokenizer, prefix: str, limit: int) -> Rows:
    """The tokens of `texts` with `prefix`, at most `limit` of each, stored in a folder whose name begins with `name`.

    Tokenizing the texts of each batch would take four times as long as the rest of the batch.
    """
    kind = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32

    def tokenized(start: int, stop: int) -> Arrays:
        rows = [np.asarray(row, kind) for row in token_rows(tokenizer, texts[start:stop], prefix, limit)]
        lengths = np.array([len(row) for row in rows], np.int64)
        return {"ids": np.concatenate([np.empty(0, kind), *rows]), "lengths": lengths}

    digest = digest_of(tokenizer.to_str(), prefix, str(limit), texts)
    found = stored_in_blocks(name.with_name(f"{name.name}-{digest}"), len(texts), tokenized)
    return Rows.of(found["ids"], found["lengths"])


def _digest(recipe: Recipe, domain: Domain) -> str:
    scores = [str(pair.scores) for pair in domain.take(range(len(domain)))] if domain.is_scored() else []
    columns = (domain.column(name) for name in ("query", "document", "document_id"))
    negatives, counts = domain.negatives(recipe.batches.hard_negatives)
    return digest_of(*columns, negatives, map(str, counts.tolist()), scores)


def _encoders(recipe: Recipe, model: ContextualModel, tokenizer: Tokenizer) -> list[Encoder]:
    """The frozen surrogate, which is any model that `load_encoder` opens or the start, and the further teachers."""
    folder, limit = recipe.run.surrogate, recipe.batches.max_tokens
    device = next(model.parameters()).device
    named = recipe.objective.teachers if folder is None else [folder, *recipe.objective.teachers]
    opened = [open_surrogate(one, device).truncated_to(limit) for one in named]
    if folder is not None:
        return opened
    frozen = start_model(recipe.model.start) if is_published(recipe.model.start) else model
    config = replace(frozen.config, max_tokens=limit)
    fingerprint = f"{frozen.weights_hash()} {limit}{config.query_prefix}{config.document_prefix}"
    return [Encoder(config, tokenizer, TorchRuntime(frozen, device), fingerprint), *opened]


def _clusters(recipe: Recipe, data: DomainData, rows: Integers) -> Clusters:
    batches, surrogate = recipe.batches, data.surrogate
    vectors: tuple[Floats, Floats] = surrogate.queries[rows], surrogate.documents[rows]
    if batches.clusters == "none":  # a single cluster, so that batches are drawn from the domain at random
        return Clusters(np.zeros(len(rows), np.int64), np.zeros((1, 1), np.float32))
    columns = {name: data.domain.column(name) for name in ("query", "document", "document_id")}
    chosen = {name: [texts[row] for row in rows.tolist()] for name, texts in columns.items()}
    if batches.clusters == "documents" and any(chosen["document_id"]):
        return cluster_documents(chosen["document_id"], *vectors)
    # The last bits of vectors differ between machines, so the name depends on what they were computed from.
    settings = f"{batches.cluster_size} {recipe.run.seed} {surrogate.fingerprint}"
    folder = recipe.run.data_folder / "clusters" / digest_of(settings, chosen["query"], chosen["document"])

    def make() -> Arrays:
        made = cluster_pairs(*vectors, batches.cluster_size, recipe.run.seed)
        return {"assignment": made.assignment, "centroids": made.centroids}

    return Clusters(**stored(folder, make))
