"""Texts of a few words in documents of several passages, for pretraining of tiny models, and the recipes for it."""

import numpy as np
from batches import write_rows
from conftest import TINY, make_tokenizer

from trainer.pretraining.recipe import load_pretraining_recipe
from trainer.pretraining.texts import Vocabulary, read_token_documents

WORDS = ["the", "cat", "dog", "water", "moon", "engine", "bread", "river", "stone", "light"]


def masking_tokenizer():
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens(["[MASK]"])
    return tokenizer


def write_texts(file, n=40):
    """Each document repeats two words in all its passages, so that both masked tokens and spans can be guessed."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(n):
        own = [WORDS[number % 10], WORDS[(number // 10 + 1 + number) % 10]]
        passages = [" ".join(random.choice(own, 12)) for _ in range(2 + number % 2)]
        row = {"doc_id": str(number), "chunks": [f"{number} {passage}" for passage in passages], "questions": []}
        rows.append(row if number % 4 else {"query": "q", "document": " ".join(passages)})
    return write_rows(file, rows)


def vocabulary():
    return Vocabulary.of(masking_tokenizer(), TINY.backbone.vocabulary, "[MASK]")


def documents(folder):
    file = write_texts(folder / "texts.jsonl")
    return read_token_documents([file], None, masking_tokenizer(), folder / "data", lambda _: None)


def recipe_of(folder, start=None, **changes):
    """A recipe in `folder`; `changes` are `section__key` to TOML values."""
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder / "texts.jsonl")
    begin = f'start = "{start}"' if start else ""
    (folder / "recipe.toml").write_text(
        f"""
        [texts]
        files = ["{folder}/texts.jsonl"]
        held_out = 0.1
        [model]
        {begin}
        [network]
        n_layers = 2
        dimension = 32
        n_heads = 4
        n_key_value_heads = 2
        head_dimension = 8
        inner = 48
        [objective]
        kind = "cocondenser"
        [learning]
        steps = 6
        size = 8
        max_tokens = 16
        rate = 3e-3
        warmup = 1
        micro_batch = 5
        [run]
        out = "{folder}/out"
        watch_every = 3
        """
    )
    values = {name.replace("__", "."): str(value) for name, value in changes.items()}
    return load_pretraining_recipe(folder / "recipe.toml", values)
