import pytest
from command import cdesearch, cdesearch_process
from hidden_libraries import run_module_without
from object_server import SECRET, move_to_computer

from cdesearch.errors import BucketError
from cdesearch.search.searcher import Searcher
from cdesearch.store.bucket import connection
from cdesearch.store.bucket.objects import bucket_at
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_every_command_says_in_one_line_that_the_bucket_has_vanished(store, run, docs, tmp_path):
    run()
    before = store.objects()
    store.is_gone = True
    (docs / "new.md").write_text("the bread is in the river")
    for command in (["query", "moon"], ["status"], ["index"], ["index", docs, "--rebuild"], ["sources", "list"]):
        gone = cdesearch_process(*command, "--index", store.address, cwd=tmp_path, code=2)
        assert f"The bucket {store.bucket} of {store.address} does not exist." in gone.stderr
    store.is_gone = False
    assert store.objects() == before
    assert run().embedded == 1


def test_a_server_that_cannot_be_reached_has_one_line_without_keys(store, run, tmp_path, monkeypatch):
    run()
    monkeypatch.setattr(connection, "MAX_RETRIES", 1)
    store.close()
    move_to_computer("second", tmp_path, monkeypatch)  # without open connections
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


def test_a_cache_that_cannot_be_written_is_named(store, run, tmp_path, monkeypatch):
    run()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    full = cdesearch("query", QUERY, "--index", store.address, cwd=tmp_path, code=2)
    assert f"{tmp_path / 'file' / 'cdesearch' / 'buckets'}" in full.stderr and "cannot be written" in full.stderr


def test_without_the_extra_one_line_names_it_and_other_commands_work(tmp_path):
    query = run_module_without("obstore", "cdesearch", "query", "x", "--index", "s3://bucket/docs", cwd=tmp_path)
    assert query.returncode == 2 and "Run `pip install 'cdesearch[scale]'`" in query.stderr
    assert query.stderr.count("\n") == 1
    (tmp_path / "a.txt").write_text("moon")
    index = run_module_without("obstore", "cdesearch", "index", ".", "--index", "s3://bucket/docs", cwd=tmp_path)
    assert index.returncode == 2 and "cdesearch[scale]" in index.stderr


PROVIDERS = {"az://docs/a": "Set AZURE_STORAGE_ACCOUNT_NAME", "gs://docs/b": "Set GOOGLE_APPLICATION_CREDENTIALS"}


@pytest.mark.parametrize(("address", "remedy"), PROVIDERS.items())
def test_missing_settings_of_another_provider_have_one_line(monkeypatch, tmp_path, address, remedy):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/absent/key")
    refused = cdesearch("query", "moon", "--index", address, cwd=tmp_path, code=2)
    assert f"The settings for {address} are missing or wrong" in refused.stderr and remedy in refused.stderr
    assert "/absent/key" not in refused.stderr


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AWS_ENDPOINT_URL", "secret.example.com", "is not the URL of a server."),
        ("AWS_ENDPOINT_URL", "http://secret:b", "is not the URL of a server."),
        ("AWS_ACCESS_KEY_ID", "secret\r", "contains a line break"),
        ("AZURE_STORAGE_ACCOUNT_NAME", "secret\n", "contains a line break"),
    ],
)
def test_a_wrong_variable_is_named_without_its_value(store, monkeypatch, tmp_path, name, value, said):
    monkeypatch.setenv(name, value)
    bucket_at.cache_clear()
    address = "az://container/docs" if name.startswith("AZURE") else store.address
    refused = cdesearch("query", "moon", "--index", address, cwd=tmp_path, code=2)
    assert refused.stderr.startswith(f"error: The variable {name} {said}")
    assert "secret" not in refused.stderr and refused.stderr.count("\n") == 1


def test_keys_and_region_of_a_profile_are_used(store, run, tiny_encoder, tmp_path, monkeypatch):
    run()
    keys = f"aws_access_key_id = AKIAPROFILE\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "config").write_text(f"[profile team]\nregion = eu-central-1\n{keys}")
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION"):
        monkeypatch.delenv(f"AWS_{name}")
    monkeypatch.setenv("AWS_PROFILE", "team")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    bucket_at.cache_clear()
    store.keys.clear()
    hits(Index.open(store.place), tiny_encoder)
    assert store.keys == {"AKIAPROFILE/eu-central-1"}
    bucket_at.cache_clear()
