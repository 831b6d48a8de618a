import pytest

from cdesearch.encode.backends import endpoint


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(endpoint, "FIRST_WAIT", 0.01)
