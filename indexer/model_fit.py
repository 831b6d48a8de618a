"""Whether the model of a run fits its index and its settings."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdesearch.encode.encoder import Encoder
from cdesearch.errors import InputError, ModelError
from cdesearch.models.added_context import has_added_context
from cdesearch.models.endpoint_model import DEFAULT_NAME, Model
from cdesearch.store.index import Index
from cdesearch.store.layout import CURRENT, rebuild_command
from indexer.chosen_model import check_named_model
from indexer.settings import Options, Settings
from indexer.target import Target


@contextmanager
def offering_default(target: Target, options: Options) -> Iterator[None]:
    """Add to the error of a model that only the index names that the default model can take its place."""
    try:
        yield
    except ModelError as error:
        if options.model is not None or not (target.folder / CURRENT).exists():
            raise
        command = rebuild_command(target.place, model=DEFAULT_NAME)
        if command in error.remedy:
            raise
        remedy = f"{error.remedy} {command} embeds all texts with the model that ships instead."
        raise type(error)(error.cause, remedy) from None


def check_model_fits(encoder: Encoder, named: Model | None, settings: Settings, base: Index | None) -> None:
    """Raise CdesearchError if an index cannot store what this model computes, or if another one built `base`.

    `named` is the model that the user has named.
    """
    if base is not None:
        _check_added_context(base, settings, encoder)
        if encoder.fingerprint != base.manifest.model_fingerprint:
            check_named_model(named, base)
        base.check_encoder(encoder)
    dimension, most = settings.dimension, encoder.dimension
    if dimension is not None and dimension > most:
        raise InputError(
            f"The vectors of this model have {most} dimensions, not {dimension}.", f"Choose a --dimension up to {most}."
        )


def _check_added_context(base: Index, settings: Settings, encoder: Encoder) -> None:
    """Raise InputError if this run and the index differ in whether the corpus adds to the same model."""
    manifest = base.manifest
    if settings.model_name == manifest.model and has_added_context(encoder.config) != manifest.added_context:
        raise InputError(
            f"The index was built {'without' if manifest.added_context else 'with'} --plain.",
            "Embed all texts again with the other settings of the index:"
            f" {rebuild_command(base.place, **{'plain' if manifest.added_context else 'no-plain': None})}.",
        )
