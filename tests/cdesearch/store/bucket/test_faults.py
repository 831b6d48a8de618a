import pytest
from command import cdesearch
from hidden_libraries import run_module_without
from object_server import SECRET, move_to_computer

from cdesearch.errors import BucketError
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket import connection
from cdesearch.store.index import Index

QUERY = "the moon is in the house"


def hits(index, encoder):
    with Searcher(index, encoder) as searcher:
        return [(hit.chunk.id, hit.score) for hit in searcher.search(QUERY, 5)]


@pytest.mark.slow
def test_passing_faults_change_nothing(store, run, docs, tiny_encoder, tmp_path, monkeypatch):
    """5% of the requests fail with 503, 5% of the connections are cut, and each request takes 100 ms."""
    store.failing, store.cut, store.latency = 0.05, 0.05, 0.1
    run()
    (docs / "new.md").write_text("the bread is in the river")
    run()
    store.failing, store.cut, store.latency = 0.0, 0.0, 0.0
    sound = hits(Index.open(store.place), tiny_encoder)
    store.failing, store.cut = 0.05, 0.05
    for number in range(5):
        move_to_computer(f"reader {number}", tmp_path, monkeypatch)
        assert hits(Index.open(store.place), tiny_encoder) == sound


def test_a_bucket_that_vanishes_has_one_error_and_a_server_answers_when_it_is_back(store, run, tiny_encoder):
    run()
    sound = hits(Index.open(store.place), tiny_encoder)
    with Searcher(Index.open(store.place), tiny_encoder) as searcher:
        store.is_gone = True
        with pytest.raises(BucketError, match="does not exist"):
            searcher.search(QUERY, 5)
        with pytest.raises(BucketError, match="does not exist"):
            Index.open(store.place)
        assert not searcher.refresh()
        store.is_gone = False
        assert [(hit.chunk.id, hit.score) for hit in searcher.search(QUERY, 5)] == sound


def test_a_server_that_cannot_be_reached_has_one_line_without_keys(store, run, tmp_path, monkeypatch):
    run()
    monkeypatch.setattr(connection, "MAX_RETRIES", 1)
    store.close()
    move_to_computer("second", tmp_path, monkeypatch)  # without open connections
    from cdesearch.store.bucket.objects import bucket_at

    bucket_at.cache_clear()
    gone = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path, code=2)
    assert f"{store.address} cannot be read" in gone.stderr
    assert SECRET not in gone.stderr and "AKIAEXAMPLE" not in gone.stderr
    gone = cdesearch("index", "docs", "--index", store.address, cwd=tmp_path, code=2)
    assert f"{store.address} cannot be read" in gone.stderr


def test_a_refusal_shows_the_code_of_the_server_and_no_key(store, run, tmp_path):
    store.refused = True
    refused = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path, code=2)
    assert f"You may not read {store.address} (403 Forbidden, InvalidAccessKeyId)." in refused.stderr
    assert "AKIAEXAMPLE" not in refused.stderr


def test_without_the_extra_one_line_names_it_and_other_commands_work(tmp_path):
    query = run_module_without("obstore", "cdesearch", "query", "x", "--index", "s3://bucket/docs", cwd=tmp_path)
    assert query.returncode == 2 and 'Run `pip install "cdesearch[scale]"`' in query.stderr
    assert query.stderr.count("\n") == 1
    (tmp_path / "a.txt").write_text("moon")
    index = run_module_without("obstore", "cdesearch", "index", ".", "--index", "s3://bucket/docs", cwd=tmp_path)
    assert index.returncode == 2 and "cdesearch[scale]" in index.stderr


def test_credentials_of_a_profile_are_used(store, run, docs, tiny_encoder, tmp_path, monkeypatch):
    run()
    (tmp_path / "credentials").write_text(
        f"[team]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = {SECRET}\n"
    )
    (tmp_path / "config").write_text("[profile team]\nregion = eu-central-1\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "team")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    from cdesearch.store.bucket.objects import bucket_at

    bucket_at.cache_clear()
    store.keys.clear()
    hits(Index.open(store.place), tiny_encoder)
    assert store.keys == {"AKIAPROFILE/eu-central-1"}
    monkeypatch.setenv("AWS_PROFILE", "absent")
    bucket_at.cache_clear()
    with pytest.raises(BucketError, match=r"There are no credentials for s3://.*ProfileNotFound"):
        Index.open(store.place)
    bucket_at.cache_clear()
