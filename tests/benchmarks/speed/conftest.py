import json

import pytest


@pytest.fixture
def corpus(tmp_path):
    """A BEIR folder of short texts with 14 queries."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [{"_id": str(n), "title": "", "text": f"note {n} of the cat and the moon"} for n in range(20)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    queries = [{"_id": str(n), "text": f"cat {n}"} for n in range(14)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    return folder
