import json

from benchmarks.peers import peers


def test_each_system_is_measured_in_a_process_of_its_own(tmp_path):
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    rows = [{"_id": str(n), "title": "", "text": f"note {n} of the cat and the moon"} for n in range(20)]
    (corpus / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = [{"_id": str(n), "text": f"cat {n}"} for n in range(14)]
    (corpus / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    peers(corpus, "10,30", "cdesearch,bm25s", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.json")
    found = json.loads(file.read_text())["rows"]
    assert [(row["system"], row["texts"]) for row in found] == [
        ("cdesearch", 10),
        ("bm25s", 10),
        ("cdesearch", 30),
        ("bm25s", 30),
    ]
    assert all(row["p50_ms"] > 0 and row["disk_mb"] > 0 and row["cold_s"] > 0 for row in found)
    assert file.with_suffix(".svg").exists()
