"""Sockets, and the time after which an idle server stops."""

import socket

import pytest

from cdesearch.errors import InputError
from cdesearch.serve.server import listening
from cdesearch.serve.settings import seconds_of

LOCAL = ("127.0.0.1", 0)


def test_a_socket_in_use_is_an_error_and_one_without_a_listener_is_replaced(tmp_path):
    path = tmp_path / "s"
    with listening(*LOCAL, [path]) as sockets:
        assert len(sockets) == 2
        assert sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
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
