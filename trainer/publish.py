"""A checkpoint as a repository on huggingface.co: its files and a card are assembled in a folder, then uploaded."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from cdesearch.errors import InputError
from cdesearch.models.checkpoint_files import FILES, GRAPHS
from cdesearch.models.config import ModelConfig
from cdesearch.models.contextual.family import ContextualFamily
from cdesearch.models.hub import NEEDS_HUB, has_form_of_id
from cdesearch.models.model_card import CARD
from cdesearch.models.registry import family_of


def publish(checkpoint: Path, name: str, card: Path | None, *, public: bool) -> str:
    """Upload a checkpoint to the repository `name`, which is created if it does not exist; returns its address.

    A new repository is private unless it is to be `public`. Raises CdesearchError, before anything is sent if the
    checkpoint, the name or the token is missing.
    """
    if not has_form_of_id(name):
        raise InputError(f"{name} is not the name of a repository.", "Name it ORGANISATION/NAME.")
    try:
        from huggingface_hub import HfApi, get_token
    except ImportError:
        raise InputError("huggingface_hub is not installed, and an upload needs it.", NEEDS_HUB) from None
    with TemporaryDirectory() as folder:
        assemble(checkpoint, name, card, Path(folder))
        if get_token() is None:
            raise InputError(
                "There is no token for huggingface.co on this computer.", "Run `hf auth login`, or set HF_TOKEN."
            )
        try:
            api = HfApi()
            address = api.create_repo(name, private=not public, exist_ok=True)
            api.upload_folder(repo_id=name, folder_path=folder, commit_message="Upload a checkpoint of cdesearch")
        except Exception as error:  # huggingface_hub and its HTTP library have many kinds of their own
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise InputError(
                f"{checkpoint} cannot be uploaded to {name} ({reason}).",
                "Check the network, the name and the rights of the token, and run the same command again.",
            ) from None
    return str(address)


def assemble(checkpoint: Path, name: str, card: Path | None, out: Path) -> list[Path]:
    """Write the files of a checkpoint and its card into `out`; returns them. Raises ModelError, InputError.

    The card is the file `card`, else the README.md of the checkpoint, else one made from the configuration.
    """
    if not isinstance(family_of(checkpoint), ContextualFamily):
        raise InputError(
            f"{checkpoint} is a model of another kind than `cdesearch train` writes.",
            "Upload its files with `hf upload`.",
        )
    config = ModelConfig.load(checkpoint)
    if missing := [name_of_file for name_of_file in FILES if not (checkpoint / name_of_file).is_file()]:
        raise InputError(f"{checkpoint} is not a whole checkpoint: it has no {missing[0]}.", "Name a whole one.")
    if card is not None and not card.is_file():
        raise InputError(f"There is no file {card}.", "Name a card, or leave --card out.")
    own = card or checkpoint / CARD
    files = [checkpoint / one for one in (*FILES, *GRAPHS) if (checkpoint / one).is_file()]
    if link := next((file for file in (*files, checkpoint / "onnx", own) if file.is_symlink()), None):
        raise InputError(f"{link} is a link, and what it points to is not uploaded.", "Put a copy in its place.")
    text = own.read_text("utf-8", "replace") if own.is_file() else "\n".join(_card(config, name)) + "\n"
    written = [out / file.relative_to(checkpoint) for file in files]
    for file, target in zip(files, written, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    (out / CARD).write_text(text, encoding="utf-8", newline="\n")
    return [*written, out / CARD]


def _card(config: ModelConfig, name: str) -> Iterator[str]:
    """The lines of a card from what is known: the shape of the model, and how it is used."""
    backbone, prefixes = config.backbone, (config.query_prefix, config.document_prefix)
    yield from ("---", "library_name: cdesearch", "pipeline_tag: sentence-similarity")
    yield from ("tags: [contextual-document-embeddings, retrieval]", "---", "", f"# {name.partition('/')[2]}", "")
    yield f"A retrieval model of cdesearch with {backbone.n_layers} layers and {backbone.dimension} dimensions, for"
    yield f"texts of at most {config.max_tokens} tokens."
    if any(prefixes):
        yield f"The prefix of queries is {prefixes[0]!r}, that of documents {prefixes[1]!r}."
    yield from ("", "```console", f"cdesearch index FOLDER --model {name}", "```")
