"""Which model a run uses: what the user names, completed by what the index names; and whether it fits the index."""

import shlex
from collections.abc import Mapping
from contextlib import suppress

from cdesearch.encode.encoder import Encoder
from cdesearch.errors import CdesearchError, IndexMismatchError, InputError
from cdesearch.models.checkpoint_files import DEFAULT_MODEL
from cdesearch.models.config import has_added_context
from cdesearch.models.endpoint_model import DEFAULT_NAME, EndpointModel, Model
from cdesearch.models.hub import is_id
from cdesearch.progress import Display
from cdesearch.store.index import Index
from cdesearch.store.layout import rebuild_command
from cdesearch.store.place import Place, absolute
from cdesearch.store.trust import TrustRequest, check_confirmed


def complete_model(named: Model | None, stored: Index | None, place: Place, progress: Display) -> Model | None:
    """The model that the user names, with what it lacks from the model of the index at `place`.

    `stored` is this index, or None if the run replaces its settings: then only its server is used, if none is named.
    Raises InputError if no server is known, and IndexUntrustedError for one that only the index names.
    """
    if not isinstance(named, EndpointModel):
        return named
    before = None if stored is None else stored.manifest
    if before is None and not named.url:
        with suppress(CdesearchError, OSError):  # there is no index, or it cannot be read
            before = Index(place).manifest
    if before is None or before.served is None or before.model is None:
        return named.completed_by(None)
    if not named.url:
        check_confirmed(place, TrustRequest(before.model))
    built = before.served.at(before.model)
    complete = named.completed_by(built)
    names_prefixes = (named.query_prefix, named.document_prefix) != (None, None)
    if any(built.prefixes) and complete.name != built.name and not names_prefixes:
        progress.note(
            f"The prefixes of {built.name:.80} are not used for {complete.name:.80}. If it needs any, add"
            " --query-prefix and --document-prefix."
        )
    return complete


def model_to_open(named: Model | None, stored: Index | None) -> Model | None:
    """The complete model of a run, as `load_encoder` takes it; `named` is what `complete_model` returned.

    Raises ModelError if that of the `stored` index is not here.
    """
    if named is None:
        return None if stored is None else stored.model_to_open
    return None if named == DEFAULT_MODEL else named


def stored_name(model: Model | None) -> str | None:
    """The model as the index stores it: an id of the hub unchanged, because the cache may be moved."""
    if model is None or model == DEFAULT_MODEL:
        return None
    if isinstance(model, EndpointModel):
        return model.url
    return model.as_posix() if is_id(model) else str(absolute(model))


def check_model_fits(encoder: Encoder, named: Model | None, model_name: str | None, base: Index | None) -> None:
    """Raise CdesearchError if another model built `base`.

    `named` is the model that the user has named, and `model_name` what the index stores.
    """
    if base is not None:
        manifest = base.manifest
        if model_name == manifest.model and has_added_context(encoder.config) != manifest.added_context:
            option = "plain" if manifest.added_context else "no-plain"
            raise InputError(
                f"The index was built {'without' if manifest.added_context else 'with'} --plain.",
                "Embed all texts again with the other settings of the index:"
                f" {rebuild_command(base.place, **{option: None})}.",
            )
        if encoder.fingerprint != base.manifest.model_fingerprint:
            _check_named_model(named, base)
        base.check_encoder(encoder)


def _check_named_model(named: Model | None, base: Index) -> None:
    """Raise IndexMismatchError if a run that keeps the vectors of `base` names another model than it has."""
    if named is None:
        return
    manifest = base.manifest
    built = manifest.served.at(manifest.model) if manifest.served and manifest.model else None
    if isinstance(named, EndpointModel) and built is not None:
        one, other = built.options | {"--model": ""}, named.options | {"--model": ""}  # the server may have moved
        for option in (option for option in one if one[option] != other[option]):
            raise IndexMismatchError(
                f"The index was built with {option} {shlex.quote(one[option])}, not {shlex.quote(other[option])}.",
                _to_embed_again(option, base.place, {option: other[option]}),
            )
    elif stored_name(named) != manifest.model:
        options = {"--model": stored_name(named) or DEFAULT_NAME}
        if isinstance(named, EndpointModel):
            options = {option: value for option, value in named.options.items() if value}
        shown = [name or f"{DEFAULT_NAME}, the one that ships" for name in (manifest.model, stored_name(named))]
        raise IndexMismatchError(
            f"The index was built by the model {shown[0]}. This is {shown[1]}.",
            _to_embed_again("--model", base.place, options),
        )


def _to_embed_again(left_out: str, place: Place, options: Mapping[str, str]) -> str:
    changed = {option.removeprefix("--").replace("-", "_"): value for option, value in options.items()}
    return (
        f"Leave out {left_out}, or embed all texts again with the other settings of the index:"
        f" {rebuild_command(place, **changed)}."
    )
