import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.folder import FORMAT
from cdesearch.store.manifest import Globs, Manifest
from cdesearch.store.served_model import ServedModel

COMPLETE = Manifest(
    cdesearch="1",
    model=None,
    model_fingerprint="m",
    context_fingerprint="c",
    context_size=1,
    context_limit=512,
    seed=0,
    dimension=16,
    max_tokens=64,
    root="..",
    sources=(".",),
    columns={},
    max_file_bytes=1,
    n_documents=2,
    n_chunks=300,
    has_parts=False,
    created=1.0,
    updated=2.0,
    files={"indexed": 2, "ignored": 0, "skipped": 0},
)
SOUND = {"format": FORMAT, "sources": []}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("[]", "it is not a JSON object"),
        ("{}", "format is missing"),
        ("{", "Expecting property name"),
        (json.dumps({"format": FORMAT}), "sources is missing"),
        (json.dumps(SOUND | {"sources": None}), "sources is null"),
        (json.dumps(SOUND | {"cdesearch": {"a": None}}), 'cdesearch is {"a": null}'),
        (json.dumps(SOUND | {"root\x1b": 1}), '"root\\u001b" is not a field of a manifest'),
    ],
)
def test_a_damaged_manifest_is_reported_with_the_reason(tmp_path, written, reason):
    file = tmp_path / "manifest.json"
    file.write_text(written)
    with pytest.raises(IndexDamagedError) as raised:
        Manifest.load(file)
    assert raised.value.cause.startswith(f"{file} cannot be read ({reason}")
    assert "Error(" not in raised.value.cause


def test_a_complete_manifest_is_written_as_by_versions_without_stages(tmp_path):
    COMPLETE.save(tmp_path / "manifest.json")
    absent = {"n_vectors", "drift", "context_chunks", "has_ocr"}
    assert not absent & json.loads((tmp_path / "manifest.json").read_text()).keys()
    assert Manifest.load(tmp_path / "manifest.json") == COMPLETE
    assert COMPLETE.is_complete and COMPLETE.stage == "complete"


@pytest.mark.parametrize(
    ("n_vectors", "stage"), [(0, "0%"), (2, "less than 1%"), (3, "1%"), (111, "37%"), (299, "99%")]
)
def test_a_stage_is_described_by_the_share_of_vectors(tmp_path, n_vectors, stage):
    replace(COMPLETE, n_vectors=n_vectors).save(tmp_path / "manifest.json")
    manifest = Manifest.load(tmp_path / "manifest.json")
    assert manifest.n_vectors == n_vectors and not manifest.is_complete
    assert manifest.stage == f"vectors: {stage}, words: all"


@pytest.mark.parametrize("n_vectors", [-1, 300, 301, 1.5, "1", True])
def test_an_impossible_number_of_vectors_is_damage(tmp_path, n_vectors):
    replace(COMPLETE, n_vectors=n_vectors).save(tmp_path / "manifest.json")
    with pytest.raises(IndexDamagedError, match="n_vectors is"):
        Manifest.load(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [("drift", -1.0), ("drift", float("nan")), ("drift", 1e300), ("drift", "3"), ("drift", True)]
    + [("context_chunks", value) for value in (-1, 1.5, 1 << 60, "4", False)],
)
def test_an_impossible_drift_is_refused(tmp_path, name, value):
    replace(COMPLETE, **{name: value}).save(tmp_path / "manifest.json")
    with pytest.raises(IndexDamagedError, match=f"{name} is"):
        Manifest.load(tmp_path / "manifest.json")


def test_the_drift_is_read_as_it_was_written(tmp_path):
    for drift in (0, 2.5, None):
        replace(COMPLETE, drift=drift, context_chunks=300).save(tmp_path / "manifest.json")
        assert Manifest.load(tmp_path / "manifest.json") == replace(COMPLETE, drift=drift, context_chunks=300)


@pytest.mark.parametrize("mounts", [".", {}, None, [1], ["other"], [["."]]])
def test_mounts_that_are_not_sources_are_damage(tmp_path, mounts):
    replace(COMPLETE, mounts=(".",)).save(tmp_path / "manifest.json")
    assert Manifest.load(tmp_path / "manifest.json").mounts == (".",)
    values = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(values | {"mounts": mounts}))
    with pytest.raises(IndexDamagedError, match="mounts"):
        Manifest.load(tmp_path / "manifest.json")


def test_the_globs_of_a_manifest_are_written_only_if_there_are_any(tmp_path):
    COMPLETE.save(tmp_path / "manifest.json")
    written = json.loads((tmp_path / "manifest.json").read_text())
    assert not {"include", "exclude", "source_globs"} & written.keys()
    chosen = replace(COMPLETE, include=("*.md",), exclude=("old/", "!x"))
    chosen.save(tmp_path / "manifest.json")
    assert Manifest.load(tmp_path / "manifest.json") == chosen
    assert chosen.globs == Globs(("*.md",), ("old/", "!x"))


def test_the_globs_of_a_source_are_read_as_they_were_written(tmp_path):
    chosen = replace(COMPLETE, sources=("a", "b"), source_globs={"b": Globs(("*.md",), ("old/",))})
    chosen.save(tmp_path / "manifest.json")
    assert Manifest.load(tmp_path / "manifest.json") == chosen


@pytest.mark.parametrize(
    "stored",
    [["a"], {"other": {}}, {"a": []}, {"a": {"include": []}}, {"a": {"include": "*", "exclude": []}}]
    + [{"a": {"include": globs, "exclude": []}} for globs in ([1], [""], ["\n"], ["a" * 100_001])]
    + [{name: {"include": ["a"] * 2501, "exclude": []} for name in "ab"}],
)
def test_impossible_globs_of_a_source_are_damage(tmp_path, stored):
    replace(COMPLETE, sources=("a", "b")).save(tmp_path / "manifest.json")
    values = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(values | {"source_globs": stored}))
    with pytest.raises(IndexDamagedError, match="source_globs"):
        Manifest.load(tmp_path / "manifest.json")


@pytest.mark.parametrize("name", ["include", "exclude"])
@pytest.mark.parametrize(
    "globs", ["*.md", {}, None, [1], [""], ["a\nb"], ["\x1b"], ["a" * 100_001], ["a"] * 5001, [["a"]]]
)
def test_impossible_globs_are_damage(tmp_path, name, globs):
    COMPLETE.save(tmp_path / "manifest.json")
    values = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(values | {name: globs}))
    with pytest.raises(IndexDamagedError, match=name):
        Manifest.load(tmp_path / "manifest.json")


SERVED = ServedModel.of(EndpointModel("http://host/v1", "tiny", "query: "), np.eye(5, 16, dtype=np.float32))


def test_a_model_on_a_server_is_read_as_it_was_written(tmp_path):
    written = replace(COMPLETE, model="http://host/v1", served=SERVED)
    written.save(tmp_path / "manifest.json")
    read = Manifest.load(tmp_path / "manifest.json")
    assert read == written and read.model_to_open == EndpointModel("http://host/v1", "tiny", "query: ", "")
    np.testing.assert_array_equal(read.served.vectors(16), np.eye(5, 16))


def test_a_manifest_of_a_model_that_runs_here_is_that_of_older_versions(tmp_path):
    COMPLETE.save(tmp_path / "manifest.json")
    assert "served" not in json.loads((tmp_path / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("model", "served", "reason"),
    [
        (None, asdict(SERVED), "served needs a URL"),
        ("/models/tiny", asdict(SERVED), "served needs a URL"),
        ("http://host/v1", "tiny", "served does not describe a model"),
        ("http://host/v1", asdict(SERVED) | {"key": "sk"}, "served does not describe a model"),
        ("http://host/v1", asdict(SERVED) | {"name": 3}, "served does not describe a model"),
        ("http://host/v1", asdict(SERVED) | {"query_prefix": "x" * 20_000}, "a text that is too long"),
        ("http://host/v1", asdict(SERVED) | {"probes": "?"}, "cannot be read"),
    ],
)
def test_a_forged_description_of_a_model_on_a_server_is_refused(tmp_path, model, served, reason):
    COMPLETE.save(tmp_path / "manifest.json")
    values = json.loads((tmp_path / "manifest.json").read_text()) | {"model": model, "served": served}
    (tmp_path / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(IndexDamagedError, match=reason):
        Manifest.load(tmp_path / "manifest.json")


def test_probes_of_another_length_than_the_dimension_are_no_vectors():
    assert SERVED.vectors(17).shape == (0, 17)


@pytest.mark.parametrize(
    ("name", "value"),
    [("languages", value) for value in ([], {"xx": 0.5}, {"de": 2}, {"de": "1"}, {"de": True}, {"de": float("nan")})]
    + [("model_languages", value) for value in ("en", [1], ["English"], [["en"]], ["en"] * 2_000)]
    + [("text_language", value) for value in ("pl", "", "xx", 1, None)],
)
def test_impossible_languages_are_damage(tmp_path, name, value):
    languages = replace(COMPLETE, languages={"de": 0.9}, model_languages=("en",), text_language="de")
    languages.save(tmp_path / "manifest.json")
    assert Manifest.load(tmp_path / "manifest.json") == languages
    values = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(values | {name: value}))
    with pytest.raises(IndexDamagedError, match=name):
        Manifest.load(tmp_path / "manifest.json")


def test_a_manifest_of_an_older_version_knows_no_languages(tmp_path):
    COMPLETE.save(tmp_path / "manifest.json")
    assert (
        not {"languages", "model_languages", "text_language"}
        & json.loads((tmp_path / "manifest.json").read_text()).keys()
    )
