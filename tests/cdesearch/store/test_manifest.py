import json

import pytest

from cdesearch.errors import IndexDamagedError
from cdesearch.store.folder import FORMAT
from cdesearch.store.manifest import Manifest

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
