import pytest
from notes import Notes

from cdesearch.progress import Silent
from cdesearch.store.index import Index
from indexer.build import build
from indexer.settings import Options


@pytest.mark.slow
def test_a_rebuild_of_a_path_says_which_settings_the_defaults_replace(docs, tiny_checkpoint):
    build([docs], Options(model=tiny_checkpoint, vectors="int8", dimension=4), Silent())
    kept, replaced, given = Notes(), Notes(), Notes()
    build([], Options(index=docs / ".cdesearch", rebuild=True), kept)
    assert not kept.lines and Index(docs / ".cdesearch").manifest.vectors == "int8"
    build([docs], Options(model=tiny_checkpoint, rebuild=True), replaced)
    assert replaced.lines == [
        "The index had vectors in int8, 4 dimensions, which the defaults replace. `cdesearch index --rebuild` without a"
        " path keeps all settings."
    ]
    build([docs], Options(rebuild=True), given)
    assert f"The index had the model {tiny_checkpoint}" in given.lines[0]
