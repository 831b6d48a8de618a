"""A small BEIR folder."""

import json

WORDS = ["cat", "dog", "water", "moon", "engine", "bread", "river", "stone"]


def write_set(folder, *, corpus=None, queries=None, judged=None, header="query-id\tcorpus-id\tscore"):
    (folder / "qrels").mkdir(parents=True)
    corpus = corpus or [{"_id": f"d{n}", "title": word, "text": f"the {word}"} for n, word in enumerate(WORDS)]
    queries = queries or [{"_id": f"q{n}", "text": word} for n, word in enumerate(WORDS)]
    judged = judged or [f"q{n}\td{n}\t1" for n in range(len(WORDS))]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels" / "test.tsv").write_text("\n".join([header, *judged]))
    return folder
