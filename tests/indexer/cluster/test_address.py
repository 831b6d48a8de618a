import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cdesearch.errors import ClusterError, InputError
from cdesearch.progress import Silent
from indexer.build import build
from indexer.cluster import session as addresses
from indexer.settings import Options


def test_an_address_at_which_nothing_listens_gives_one_line_at_once(docs, tiny_checkpoint):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ClusterError, match=f"No Ray cluster answers at {address}"):
            build([docs], Options(model=tiny_checkpoint, engine="ray", address=address), Silent())
    assert not (docs / ".cdesearch").exists()


@pytest.mark.slow
def test_a_cluster_that_does_not_start_is_an_error_of_the_cluster(docs, tiny_checkpoint, monkeypatch):
    def fail(*_, **__):
        raise Exception("The current node timed out during startup.")  # as Ray does

    monkeypatch.setattr(pytest.importorskip("ray"), "init", fail)
    with pytest.raises(ClusterError, match="timed out during startup"):
        build([docs], Options(model=tiny_checkpoint, engine="ray", workers=1), Silent())


@pytest.mark.parametrize(
    "address", ["head:port", "head:99999", "user:SECRET@head:6379", ".:1", f"{'a' * 300}:1", "ray://head:10001", ""]
)
def test_what_is_no_address_gives_one_line_that_does_not_repeat_it(docs, address):
    with pytest.raises(InputError, match="--address is not the address of a Ray cluster") as refused:
        build([docs], Options(engine="ray", address=address), Silent())
    assert "SECRET" not in str(refused.value)


def test_another_kind_of_server_gives_one_line_at_once(docs, tiny_checkpoint):
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        with pytest.raises(ClusterError, match=f"answers at {address} .another kind of server"):
            build([docs], Options(model=tiny_checkpoint, engine="ray", address=address), Silent())
        server.shutdown()


def test_a_missing_library_names_the_extra_that_installs_it(docs, monkeypatch):
    monkeypatch.setattr(addresses, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'cdesearch\[scale\]'"):
        build([docs], Options(engine="ray"), Silent())


def test_options_of_a_cluster_need_a_cluster(docs):
    with pytest.raises(InputError, match="Add --engine ray"):
        build([docs], Options(workers=2), Silent())
    with pytest.raises(InputError, match="0 workers"):
        build([docs], Options(engine="ray", workers=0), Silent())
