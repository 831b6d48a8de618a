"""A BEIR folder as an mteb task, searched by cdesearch (pip install 'cdesearch[mteb]').

python examples/mteb_task.py BEIR_FOLDER
"""

import json
import sys
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit(__doc__)

try:
    import mteb
    from datasets import Dataset
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData
    from mteb.abstasks.task_metadata import TaskMetadata

    from cdesearch.integrations.mteb import CdesearchModel
except ModuleNotFoundError as error:
    sys.exit(f"{error.name} is not installed. Run `pip install 'cdesearch[mteb]'`.")

folder = Path(sys.argv[1])


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a JSONL file, with the field names of mteb."""
    lines = (folder / name).read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    return [{"id": row["_id"], "title": row.get("title", ""), "text": row["text"]} for row in found]


class LocalTask(AbsTaskRetrieval):
    """A task that reads a folder on disk. Any other mteb task can be used in its place."""

    metadata = TaskMetadata(
        name="LocalRetrieval",
        description="A local BEIR folder.",
        dataset={"path": str(folder), "revision": "local"},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="ndcg_at_10",
    )

    def load_data(self, **_: object) -> None:
        judged: dict[str, dict[str, int]] = {}
        for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            judged.setdefault(query, {})[document] = int(grade)
        queries = [{"id": row["id"], "text": row["text"]} for row in rows("queries.jsonl") if row["id"] in judged]
        data = RetrievalSplitData(
            corpus=Dataset.from_list(rows("corpus.jsonl")),
            queries=Dataset.from_list(queries),
            relevant_docs=judged,
            top_ranked=None,
        )
        self.dataset = {"default": {"test": data}}
        self.data_loaded = True


results = mteb.evaluate(CdesearchModel(), LocalTask(), cache=None, overwrite_strategy="always", show_progress_bar=False)
print(f"nDCG@10 {results[0].get_score():.3f}")
