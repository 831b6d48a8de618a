"""The commands that build an index again from other files, or without the settings that it has, for messages.

Such a build keeps no setting of the index, so its command names the model if it is not the default one.
"""

import os
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from cdesearch.errors import InputError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.copies import address_of_copies
from cdesearch.store.manifest import Manifest
from cdesearch.store.place import Place
from cdesearch.store.trust import TrustRequest, unconfirmed


def removal_command(source: Path, sources: Sequence[Path], place: Place, manifest: Manifest) -> str:
    """The command by which the index at `place` loses one of its `sources`.

    It cannot lose its only one, but be built again from PATH with its model and otherwise default settings.
    """
    if len(sources) == 1:
        options = "".join(f" {option} {shlex.quote(value)}" for option, value in _model_options(place, manifest))
        return f"`cdesearch index --rebuild PATH{options} --index {shlex.quote(str(place))}`"
    return f"`cdesearch sources remove {shlex.quote(str(source))} --index {shlex.quote(str(place))}`"


def still_answering(source: Path, sources: Sequence[Path], place: Place, manifest: Manifest) -> str:
    """The line about one of the `sources` of the index at `place` that does not exist or is not mounted."""
    if (address := address_of_copies(source)) is not None:
        update = f"`cdesearch index --index {shlex.quote(str(place))}`"
        return f"{address} was not yet downloaded to this computer. {update} does that, and updates its documents."
    command = removal_command(source, sources, place, manifest)
    state = "is not mounted" if os.path.lexists(source) else "no longer exists"
    return f"{source} {state}. Its documents stay in the index until you run {command}."


def _model_options(place: Place, manifest: Manifest) -> Iterable[tuple[str, str]]:
    """The options that name the model of an index, with their values.

    There are none for a model that the user has not confirmed: running the command would count as confirming it.
    """
    if manifest.model is None:
        return []
    with suppress(InputError):  # the file of confirmations cannot be read
        if unconfirmed(place, TrustRequest(manifest.model)).is_empty:
            served = manifest.served
            model = EndpointModel(manifest.model) if served is None else served.at(manifest.model)
            return [(option, value) for option, value in model.options.items() if value]
    return []
