"""An index whose headings a model can learn: the words of a body are others than those of its heading, by a rule."""

import json

import numpy as np
from conftest import make_checkpoint
from random_texts import WORDS, masking_tokenizer

from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options

OTHER = dict(zip(WORDS, WORDS[3:] + WORDS[:3], strict=True))  # the word of a body for each word of a heading


def masking_checkpoint(folder):
    make_checkpoint(folder)
    masking_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def write_records(file, n):
    """Records with different titles of four words, and bodies of three sentences of words that belong to these."""
    random = np.random.default_rng(0)
    titles = dict.fromkeys(tuple(random.permutation(WORDS)[:4]) for _ in range(2 * n))
    rows = []
    for number, title in enumerate(list(titles)[:n]):
        body = random.choice([OTHER[word] for word in title], (3, 12))
        text = " ".join(f"{' '.join(words).capitalize()}." for words in body)
        rows.append({"_id": str(number), "title": " ".join(title), "text": text})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(map(json.dumps, rows)))
    return file


def make_index(folder, model, n=320):
    write_records(folder / "docs" / "records.jsonl", n)
    return Index(build([folder / "docs"], Options(model=model), Silent()).folder)
