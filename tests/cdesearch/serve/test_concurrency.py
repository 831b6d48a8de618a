from concurrent.futures import ThreadPoolExecutor

import pytest
from served_pages import PAGES

from cdesearch.search.searcher import Searcher
from cdesearch.store.index import Index

CLIENTS = 16
ROUNDS = 5


@pytest.mark.slow
def test_sixteen_clients_at_once_get_the_hits_of_a_searcher_alone(server, pages):
    queries = [" ".join(text.split()[-4:]) for text in PAGES.values()]
    modes = ("hybrid", "dense", "text")
    with Searcher(Index.open(pages)) as searcher:
        expected = {
            (query, mode): [(hit.chunk.id, hit.score) for hit in searcher.search(query, mode=mode, k=5)]
            for query in queries
            for mode in modes
        }

    def ask(asked):
        query, mode = asked
        answer = server.json("search", q=query, mode=mode, k=5)
        return [(hit["chunk"], hit["score"]) for hit in answer["hits"]]

    asked = list(expected) * ROUNDS
    with ThreadPoolExecutor(CLIENTS) as clients:
        assert list(clients.map(ask, asked)) == [expected[one] for one in asked]
