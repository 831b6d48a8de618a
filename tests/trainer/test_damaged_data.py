"""Prepared data that was copied incompletely, or that contains links: one line, and nothing is trained on it."""

import json
import shutil

import numpy as np
import pytest
from conftest import make_tokenizer

from cdesearch.errors import InputError, StorageError
from cdesearch.progress import Silent
from trainer.data.material import prepare_material
from trainer.recipe import load_recipe
from trainer.starting import starting_model

FILES = [
    "pairs-*/document.utf8",
    "pairs-*/query.starts.npy",
    "pairs-*/negatives.first.npy",
    "pairs-????????????????.json",
    "surrogate/pairs-query-*.npy",
    "pairs-????????????????.sums.json",
    "surrogate/pairs-query-*.json",
    "clusters/*.npz",
    "tokens/pairs-document-*.ids.npy",
    "tokens/pairs-document-*.ends.npy",
    "tokens/pairs-document-*.sums.json",
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory, tiny_checkpoint):
    """A recipe, and the folder of its prepared data."""
    folder = tmp_path_factory.mktemp("prepared")
    random = np.random.default_rng(0)
    texts = [f"{n} " + " ".join(random.choice(["cat", "moon", "bread", "river"], size=5)) for n in range(40)]
    rows = [{"query": text[:9], "document": text, "negatives": ["the dog"]} for text in texts]
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, [*rows, rows[0]])))
    (folder / "recipe.toml").write_text(
        f"""
        [data]
        pairs = ["{folder}/pairs.jsonl"]
        [model]
        start = "{tiny_checkpoint}"
        [batches]
        size = 8
        hard_negatives = 1
        [run]
        out = "{folder}/out"
        work = "{folder}/work"
        """
    )
    prepare(folder / "recipe.toml", folder / "work")
    return folder / "recipe.toml", folder / "work"


def prepare(recipe_file, work):
    recipe = load_recipe(recipe_file, {"run.work": str(work)})
    return prepare_material(recipe, starting_model(recipe.model), make_tokenizer(), Silent()).stream


def only(folder, pattern):
    (file,) = folder.glob(pattern)
    return file


@pytest.mark.parametrize("share", [0, 0.5, 0.9])
@pytest.mark.parametrize("pattern", FILES)
def test_a_file_that_was_cut_off_is_named_and_made_again_after_it_is_deleted(prepared, tmp_path, pattern, share):
    recipe_file, complete = prepared
    work = shutil.copytree(complete, tmp_path / "work")
    file = only(work, pattern)
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    refuses_until_it_is_deleted(recipe_file, work, file, complete)


@pytest.mark.parametrize("pattern", [one for one in FILES if not one.endswith(".json")])
def test_a_file_that_was_overwritten_is_named_and_made_again_after_it_is_deleted(prepared, tmp_path, pattern):
    """Zeros are valid tokens and texts, and a vector of zeros would only make the batches worse."""
    recipe_file, complete = prepared
    work = shutil.copytree(complete, tmp_path / "work")
    file = only(work, pattern)
    content = file.read_bytes()
    middle = 128 + 8 * ((len(content) - 128) // 16)  # after the header of an array
    file.write_bytes(content[:middle] + b"\0" * 8 + content[middle + 8 :])
    assert file.read_bytes() != content
    refuses_until_it_is_deleted(recipe_file, work, file, complete)


def refuses_until_it_is_deleted(recipe_file, work, file, complete):
    with pytest.raises(StorageError, match="is damaged") as error:
        prepare(recipe_file, work)
    assert str(file) in error.value.cause and error.value.exit_code == 2
    assert "delete it and run the same command again" in error.value.remedy
    file.unlink()
    again, expected = prepare(recipe_file, work), prepare(recipe_file, complete)
    for step in range(2):
        assert again.batch(step).documents.ids.tolist() == expected.batch(step).documents.ids.tolist()


@pytest.mark.parametrize("pattern", ["pairs-*/", "surrogate/", "clusters/", "tokens/", *FILES])
def test_links_in_prepared_data_are_refused(prepared, tmp_path, pattern):
    recipe_file, complete = prepared
    work = shutil.copytree(complete, tmp_path / "work")
    (tmp_path / "link").symlink_to(work)
    prepare(recipe_file, tmp_path / "link")  # the folder that the user names may be a link itself
    entry = only(work, pattern.removesuffix("/") + ("[0-9a-f]" if pattern == "pairs-*/" else ""))
    entry.rename(tmp_path / "moved")
    entry.symlink_to(tmp_path / "moved")
    with pytest.raises(InputError, match="is a symbolic link"):
        prepare(recipe_file, work)


def test_unfinished_files_that_are_links_are_not_followed(prepared, tmp_path):
    recipe_file, complete = prepared
    victim = tmp_path / "victim"
    victim.write_text("mine")
    work = tmp_path / "work"
    for file in complete.rglob("*"):
        if file.is_file() and (file.suffix != ".npy" or file.parent.name != "surrogate"):
            link = work / file.relative_to(complete).parent / f"{file.name}.cdesearch-unfinished"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(victim)
    prepare(recipe_file, work)
    assert victim.read_text() == "mine"
