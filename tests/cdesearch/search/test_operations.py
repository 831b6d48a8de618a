"""What a search does is counted, not timed. A change that makes it do more changes the table below as well."""

import cProfile
import pstats
from pathlib import Path

import pytest
from built import write_files

import cdesearch

PACKAGE = str(Path(cdesearch.__file__).parent)
SENTENCES = ("The cat sleeps on the {}.", "A dog barks at the {}.", "Bread is baked in the {}.", "Water fills the {}.")
PLACES = ("mat", "river", "harbour", "village", "mill", "tower", "garden", "bridge", "valley", "island")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    texts = {
        f"{place}-{kind}.md": f"# {place} {number}\n\n{sentence.format(place)}\n"
        for number, place in enumerate(PLACES)
        for kind, sentence in enumerate(SENTENCES)
    }
    return cdesearch.build(write_files(tmp_path_factory.mktemp("operations"), texts))


def counted(search):
    """The reads of tables, and the calls of functions of the package, of the third search of several alike."""
    search(), search()
    profile = cProfile.Profile()
    profile.runcall(search)
    stats = pstats.Stats(profile).stats
    own = {place: calls for place, (_, calls, *_) in stats.items() if place[0].startswith(PACKAGE)}
    return sum(calls for place, calls in own.items() if place[2] == "run_async"), sum(own.values())


@pytest.mark.parametrize(("mode", "most_calls"), [("text", 2_150), ("dense", 2_150), ("hybrid", 2_200)])
def test_a_warm_search_reads_and_computes_no_more_than_before(opened, mode, most_calls):
    reads, calls = counted(lambda: opened.search("how is bread baked in the village mill", mode=mode))
    assert reads == 2
    assert 0.9 * most_calls < calls <= most_calls
