import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from cdesearch.errors import IndexDamagedError, IndexMismatchError
from cdesearch.models.endpoint_model import EndpointModel
from cdesearch.store.layout import FORMAT
from cdesearch.store.manifest import Globs, Manifest, ServedModel

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
    vectors="float16",
    context_chunks=300,
)
SERVED = ServedModel.of(EndpointModel("http://host/v1", "tiny", "query: "), np.eye(5, 16, dtype=np.float32))


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"n_vectors": 0},
        {"drift": 2.5},
        {"include": ("*.md",), "exclude": ("old/", "!x")},
        {"sources": ("a", "b"), "mounts": ("a",), "source_globs": {"b": Globs(("*.md",), ("old/",))}},
        {"languages": {"de": 0.9}, "model_languages": ("en",)},
        {"model": "http://host/v1", "served": SERVED},
        {"root": "/d\udcff", "sources": ("n\udcfe",)},
    ],
    ids=str,
)
def test_a_manifest_is_read_as_it_was_written(tmp_path, values):
    written = replace(COMPLETE, **values)
    written.save(tmp_path / "manifest.json")
    assert Manifest.load(tmp_path / "manifest.json") == written


@pytest.mark.parametrize("written", ["[]", "{}", "{", json.dumps({"format": FORMAT}), "[" * 100_000])
def test_a_damaged_manifest_is_reported_with_the_reason(tmp_path, written):
    file = tmp_path / "manifest.json"
    file.write_text(written)
    with pytest.raises(IndexDamagedError, match=r"manifest\.json cannot be read \("):
        Manifest.load(file)


def test_a_manifest_of_another_format_is_no_damage(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": FORMAT - 1}))
    with pytest.raises(IndexMismatchError, match=f"has index format {FORMAT - 1}; this cdesearch reads {FORMAT}"):
        Manifest.load(tmp_path / "manifest.json")


IMPOSSIBLE = {
    "cdesearch": [{"a": None}],
    "n_vectors": [-1, 1.5, "1", True],
    "drift": [-1.0, float("nan"), 1e300, "3"],
    "context_chunks": [-1, 1.5, 1 << 60, None],
    "root": ["", "docs", "../..", "/a/../b", "a\0"],
    "sources": [None, "a", ["/a"], ["../a"], [1]],
    "mounts": [".", None, [1]],
    "include": ["*.md", None, [1], [""], ["a\nb"]],
    "source_globs": [["a"], {".": []}, {".": {"include": [""], "exclude": []}}],
    "columns": [{"other": "a"}, {"text": 1}, []],
    "files": [{"indexed": -1}, {"gone": 1}],
    "vectors": ["float8", None],
    "languages": [[], {"xx": 0.5}, {"de": 2}, {"de": "1"}],
    "model_languages": ["en", [1], ["English"], ["en"] * 2_000],
    "served": ["tiny", asdict(SERVED) | {"name": 3}, asdict(SERVED)],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in IMPOSSIBLE.items() for value in values])
def test_an_impossible_value_is_damage(tmp_path, name, value):
    (tmp_path / "manifest.json").write_text(json.dumps(asdict(COMPLETE) | {name: value}))
    with pytest.raises(IndexDamagedError, match=r"manifest\.json cannot be read \("):
        Manifest.load(tmp_path / "manifest.json")


@pytest.mark.parametrize(
    ("n_vectors", "stage"), [(0, "0%"), (2, "less than 1%"), (3, "1%"), (111, "37%"), (299, "99%")]
)
def test_a_stage_is_described_by_the_share_of_vectors(n_vectors, stage):
    manifest = replace(COMPLETE, n_vectors=n_vectors)
    assert not manifest.is_complete and manifest.stage == f"vectors: {stage}, words: all"
    assert COMPLETE.is_complete and COMPLETE.stage == "complete"


def test_probes_of_another_length_than_the_dimension_are_no_vectors():
    np.testing.assert_array_equal(SERVED.vectors(16), np.eye(5, 16))
    assert SERVED.vectors(17).shape == (0, 17)
