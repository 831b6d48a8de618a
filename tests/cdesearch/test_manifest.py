import json

import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.index_folder import FORMAT
from cdesearch.manifest import Manifest

SOUND = {"format": FORMAT, "sources": []}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("[]", "it holds no JSON object"),
        ("{}", "format is missing"),
        ("{", "Expecting property name"),
        (json.dumps({"format": FORMAT}), "sources is missing"),
        (json.dumps(SOUND | {"sources": None}), "sources is null"),
        (json.dumps(SOUND | {"cdesearch": {"a": None}}), 'cdesearch is {"a": null}'),
        (json.dumps(SOUND | {"root\x1b": 1}), '"root\\u001b" is no field of it'),
    ],
)
def test_what_is_wrong_with_a_manifest_is_said_in_its_own_terms(tmp_path, written, reason):
    file = tmp_path / "manifest.json"
    file.write_text(written)
    with pytest.raises(IndexDamagedError) as raised:
        Manifest.load(file)
    assert raised.value.cause.startswith(f"{file} cannot be read ({reason}")
    assert "Error(" not in raised.value.cause
