import errno
import os

import pytest
from command import cdesearch as run_command

import cdesearch
from benchmarks.datasets.dataset import read_dataset
from cdesearch.errors import IndexUntrustedError, InputError, StorageError
from cdesearch.evaluation import labels
from cdesearch.evaluation.labels import BAD, GOOD, labelled_questions, mark, read_labels
from cdesearch.search.documents import DocumentReader
from cdesearch.store.index import Index
from cdesearch.store.layout import LABELS
from trainer.data.pairs.beir import read_beir


@pytest.fixture
def own(tmp_path):
    for name in ("cat", "dog", "moon"):
        (tmp_path / f"{name}.md").write_text(f"# The {name}\n\n" + f"the {name} and the water of the river {name} " * 6)
    cdesearch.build(tmp_path).close()
    return tmp_path


def hits(folder):
    index = Index.open(folder)
    return {entry.path: DocumentReader(index).file(entry.path)[0] for entry in DocumentReader(index).entries()}


def test_the_trainer_and_the_benchmarks_read_labels_as_a_beir_folder(own):
    index, found = Index.open(own), hits(own)
    mark(index.folder, "where is  the cat?", [(found["cat.md"], GOOD), (found["dog.md"], BAD)])
    mark(index.folder, "light at night", [(found["moon.md"], GOOD)])
    read = read_beir(index.folder / LABELS)
    assert set(read.queries.values()) == {"where is the cat?", "light at night"}
    texts = dict(zip(read.ids, read.texts, strict=True))
    right = {read.queries[query]: [texts[name] for name in row] for query, row in read.judgements.items()}
    assert right == {"where is the cat?": [found["cat.md"].text], "light at night": [found["moon.md"].text]}
    assert read_dataset(index.folder / LABELS).judgements == read.judgements


def test_a_later_mark_replaces_an_earlier_one(own):
    index, found = Index.open(own), hits(own)
    assert mark(index.folder, "cat", [(found["cat.md"], GOOD)]).n_questions == 1
    assert mark(index.folder, "cat", [(found["cat.md"], BAD)]).n_questions == 0
    assert list(read_labels(index.folder).grades.values()) == [BAD]


def test_labels_survive_updates_rebuilds_and_small_edits(own):
    folder, found = Index.open(own).folder, hits(own)
    mark(folder, "cat", [(found["cat.md"], GOOD)])
    mark(folder, "dog", [(found["dog.md"], GOOD)])
    (own / "cat.md").write_text((own / "cat.md").read_text() + "and a stone.\n")
    (own / "dog.md").unlink()
    cdesearch.build(own, rebuild=True).close()
    questions, n_lost = labelled_questions(Index.open(own))
    assert [(one.text, one.answers) for one in questions] == [("cat", {hits(own)["cat.md"].id})]
    assert n_lost == 1


def test_a_new_index_after_clear_uses_the_labels(own):
    folder, found = Index.open(own).folder, hits(own)
    mark(folder, "cat", [(found["cat.md"], GOOD)])
    assert "Your labels in it stay" in run_command("clear", "--yes", cwd=own).stdout
    cdesearch.build(own).close()
    assert Index.open(own).folder == folder
    assert [one.text for one in labelled_questions(Index.open(own))[0]] == ["cat"]


def test_without_labels_the_command_that_makes_them_is_named(own):
    with pytest.raises(InputError, match="cdesearch label"):
        labelled_questions(Index.open(own))


def test_a_forged_folder_of_labels_cannot_lead_elsewhere(own, tmp_path_factory):
    folder, found = Index.open(own).folder, hits(own)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "kept").write_text("kept")
    (folder / LABELS).symlink_to(elsewhere)
    with pytest.raises(IndexUntrustedError):
        mark(folder, "cat", [(found["cat.md"], GOOD)])
    (folder / LABELS).unlink()
    (folder / LABELS).mkdir()
    (folder / LABELS / "lock").symlink_to(elsewhere / "kept")
    with pytest.raises(IndexUntrustedError):
        mark(folder, "cat", [(found["cat.md"], GOOD)])
    assert (elsewhere / "kept").read_text() == "kept"


def test_a_damaged_line_is_named(own):
    folder = Index.open(own).folder
    mark(folder, "cat", [(hits(own)["cat.md"], GOOD)])
    with (folder / LABELS / "qrels" / "test.tsv").open("a") as file:
        file.write("a\tb\n")
    with pytest.raises(InputError, match=r"test.tsv:3 is not a label"):
        read_labels(folder)


def test_a_passage_without_its_path_and_a_folder_in_place_of_a_file_are_named(own):
    labels = Index.open(own).folder / LABELS
    mark(labels.parent, "cat", [(hits(own)["cat.md"], GOOD)])
    with (labels / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "a", "text": "x"}\n')
    with pytest.raises(InputError, match=r"corpus.jsonl:2 is not a label"):
        read_labels(labels.parent)
    (labels / "corpus.jsonl").unlink()
    (labels / "corpus.jsonl").mkdir()
    with pytest.raises(InputError, match=r"corpus.jsonl .*(cannot be read|not a plain file)"):
        read_labels(labels.parent)


def test_a_full_disk_is_reported_with_its_remedy(own, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder, found = Index.open(own).folder, hits(own)
    monkeypatch.setattr(labels, "replace_file", full)
    with pytest.raises(StorageError, match=r"The disk of .* is full\. Free some space"):
        mark(folder, "cat", [(found["cat.md"], GOOD)])
