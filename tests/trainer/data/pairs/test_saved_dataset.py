import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cdesearch.errors import SourceError
from trainer.data.pairs.domains import prepare
from trainer.data.pairs.reading import Pair, domain_files, read_pairs

datasets = pytest.importorskip("datasets")

COLUMNS = {
    "anchor": ["q", "r", "s"],
    "positive": ["d", "e", "f"],
    "negative_1": ["n", "o", "p"],
}
PAIRS = [Pair("q", "d", ("n",)), Pair("r", "e", ("o",)), Pair("s", "f", ("p",))]


@pytest.fixture(autouse=True)
def _no_bars():
    datasets.disable_progress_bars()


def test_a_saved_data_set_is_a_domain_with_the_name_of_its_folder(tmp_path):
    whole = datasets.Dataset.from_dict(COLUMNS)
    whole.save_to_disk(str(tmp_path / "pairs" / "one"), num_shards=2)
    datasets.DatasetDict({"train": whole, "test": whole.select([0])}).save_to_disk(str(tmp_path / "pairs" / "two"))
    (tmp_path / "pairs" / "three.jsonl").write_text('{"query": "q", "document": "d"}')
    (tmp_path / "pairs" / "notes").mkdir()
    files = domain_files([tmp_path / "pairs"])
    assert [file.name for file in files] == ["one", "three.jsonl", "two"]
    assert [list(read_pairs(files[number])) for number in (0, 2)] == [PAIRS, PAIRS]
    assert domain_files([tmp_path / "pairs" / "two"]) == [tmp_path / "pairs" / "two"]
    domains = prepare(files, tmp_path / "work")
    assert [(domain.name, len(domain)) for domain in domains] == [("one", 3), ("three", 1), ("two", 3)]


def test_selected_and_renamed_rows_are_read_as_they_are_shown(tmp_path):
    columns = {"question": ["q", "r"], "answer": ["d", "e"], "negative_1": ["n", "o"], "negative_2": ["x", "y"]}
    whole = datasets.Dataset.from_dict(columns)
    chosen = whole.rename_columns({"question": "query", "answer": "document"}).select([1])
    chosen.save_to_disk(str(tmp_path / "chosen"))
    assert list(read_pairs(tmp_path / "chosen")) == [Pair("r", "e", ("o", "y"))]


@pytest.mark.parametrize("inside", [".", "data"])
def test_a_copy_of_a_repository_is_one_domain_of_its_training_split(tmp_path, inside):
    folder = tmp_path / "repository" / inside
    folder.mkdir(parents=True)
    table = pa.table({"query": ["q", "r"], "document": ["d", "e"]})
    for number in range(2):
        pq.write_table(table.slice(number, 1), folder / f"train-0000{number}-of-00002.parquet")
    pq.write_table(table, folder / "test-00000-of-00001.parquet")
    (file,) = domain_files([tmp_path / "repository"])
    assert file.name == "repository" and list(read_pairs(file)) == [Pair("q", "d"), Pair("r", "e")]


def test_a_changed_shard_is_read_again(tmp_path):
    for texts in (["d", "e"], ["d", "other"]):
        data = datasets.Dataset.from_dict({"query": ["q", "r"], "document": texts})
        data.save_to_disk(str(tmp_path / "one"))
        (domain,) = prepare([tmp_path / "one"], tmp_path / "work")
        assert domain.column("document") == texts


def test_damaged_data_sets_are_named(tmp_path):
    folder = tmp_path / "one"
    datasets.Dataset.from_dict(COLUMNS).save_to_disk(str(folder))
    shard = folder / "data-00000-of-00001.arrow"
    content = shard.read_bytes()
    shard.write_bytes(content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"00001\.arrow is not a readable Arrow file"):
        list(read_pairs(folder))
    datasets.DatasetDict({"test": datasets.Dataset.from_dict(COLUMNS)}).save_to_disk(str(tmp_path / "two"))
    with pytest.raises(SourceError, match="a data set without a split `train`"):
        domain_files([tmp_path / "two"])
