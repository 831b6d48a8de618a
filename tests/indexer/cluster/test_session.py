import socket

import pytest

from cdesearch.errors import ClusterError, InputError
from cdesearch.progress import Silent
from indexer.build import build
from indexer.cluster import session
from indexer.settings import Options


def test_an_address_at_which_nothing_listens_gives_one_line_at_once(docs, tiny_checkpoint):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"No Ray cluster answers at {address}"):
            build([docs], Options(model=tiny_checkpoint, engine="ray", address=address), Silent())
    assert not (docs / ".cdesearch").exists()


def test_an_address_with_a_port_that_is_no_number_gives_one_line(docs):
    with pytest.raises(InputError, match="head:port is not the address"):
        build([docs], Options(engine="ray", address="head:port"), Silent())


def test_a_missing_library_names_the_extra_that_installs_it(docs, monkeypatch):
    monkeypatch.setattr(session, "NEEDED", ("no_such_library",))
    with pytest.raises(InputError, match=r"pip install 'cdesearch\[scale\]'"):
        build([docs], Options(engine="ray"), Silent())


def test_options_of_a_cluster_need_a_cluster(docs):
    with pytest.raises(InputError, match="Add --engine ray"):
        build([docs], Options(workers=2), Silent())
    with pytest.raises(InputError, match="0 workers"):
        build([docs], Options(engine="ray", workers=0), Silent())
