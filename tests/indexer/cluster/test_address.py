import socket

import pytest
from built import make_index

from cdesearch.errors import ClusterError, InputError
from indexer.cluster import session as addresses


def test_an_address_at_which_nothing_listens_gives_one_line_at_once(docs, tiny_checkpoint):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"No Ray cluster answers at {address}"):
            make_index([docs], model=tiny_checkpoint, engine="ray", address=address)
    assert not (docs / ".cdesearch").exists()


@pytest.mark.parametrize(
    "address", ["head:port", "head:99999", "user:SECRET@head:6379", ".:1", f"{'a' * 300}:1", "ray://head:10001", ""]
)
def test_what_is_no_address_gives_one_line_that_does_not_repeat_it(docs, address):
    with pytest.raises(InputError, match="--address is not the address of a Ray cluster") as refused:
        make_index([docs], engine="ray", address=address)
    assert "SECRET" not in str(refused.value)


def test_a_missing_library_names_the_extra_that_installs_it(docs, monkeypatch):
    monkeypatch.setattr(addresses, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'cdesearch\[scale\]'"):
        make_index([docs], engine="ray")


def test_options_of_a_cluster_need_a_cluster(docs):
    with pytest.raises(InputError, match="Add --engine ray"):
        make_index([docs], workers=2)
    with pytest.raises(InputError, match="0 workers"):
        make_index([docs], engine="ray", workers=0)
