"""Sockets, limits of clients, and how a server stops."""

import socket
import time
from contextlib import suppress

import pytest
from running_server import running_server

from cdesearch.errors import InputError
from cdesearch.serve.server import listening
from cdesearch.serve.settings import ServeSettings, seconds_of

LOCAL = ("127.0.0.1", 0)
REQUEST = b"GET /api/v1/healthz HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture(scope="module")
def impatient(pages):
    with running_server([pages], ServeSettings(client_seconds=0.5)) as running:
        yield running


def test_a_socket_in_use_is_an_error_and_one_without_a_listener_is_replaced(tmp_path):
    path = tmp_path / "s"
    with listening(*LOCAL, [path]) as sockets:
        assert len(sockets) == 2
        with pytest.raises(InputError, match=r"cannot listen on the socket .*in use"), listening(*LOCAL, [path]):
            pass
        assert path.exists()
    assert not path.exists()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listening(*LOCAL, [path]):
        pass


def test_what_another_program_has_at_the_path_of_the_socket_is_kept(tmp_path):
    path, notes = tmp_path / "s", tmp_path / "notes.txt"
    notes.write_text("mine")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        for taken in (path, notes):
            with pytest.raises(InputError, match=r"cannot listen on the socket .*in use"), listening(*LOCAL, [taken]):
                pass
        assert path.is_socket() and notes.read_text() == "mine"


def test_a_duration_has_a_number_and_a_unit():
    assert [seconds_of(typed) for typed in ("90s", "30m", "2h", "1s")] == [90, 1800, 7200, 1]
    for typed in ("", "30", "m", "-1m", "1.5h", "0s", "1d", "1 m", "9999999s", "1m30s"):
        with pytest.raises(InputError, match="90s, 30m or 2h"):
            seconds_of(typed)


def sent(server, parts, *, before=b""):
    """Send a request `before`, and then `parts`; returns what the server sends until it closes, and the seconds."""
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(before)
        while before and not answer.endswith(b"}"):
            answer += connection.recv(65_536)
        started, answer = time.monotonic(), b""
        with suppress(ConnectionResetError, BrokenPipeError):
            for part in parts:
                connection.sendall(part)
                time.sleep(0.05)
            while part := connection.recv(65_536):
                answer += part
        return answer, time.monotonic() - started


@pytest.mark.parametrize(
    ("parts", "before"),
    [
        ([], b""),
        ([b"GET / HT"], b""),
        ([REQUEST + b"X: "], b""),
        ([b"G"] * 100, b""),
        ([b"GET / HT"], REQUEST + b"\r\n"),
        ([b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\na"], b""),
    ],
)
def test_a_connection_whose_request_arrives_slowly_is_closed(impatient, parts, before):
    answer, seconds = sent(impatient, parts, before=before)
    assert answer == b"" and 0.4 < seconds < 4


def test_a_client_that_does_not_read_its_answers_is_disconnected(impatient):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", impatient.port))
        with suppress(OSError):  # the server resets the connection
            connection.sendall(b"GET /static/style.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        started = time.monotonic()
        with pytest.raises(OSError, match=r"reset|Broken"):
            while time.monotonic() < started + 10:
                connection.sendall(b"\r\n")
                time.sleep(0.05)
