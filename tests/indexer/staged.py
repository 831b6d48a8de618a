"""Builds that publish a stage after each window of chunks, and builds that are stopped after one."""

import pytest

from cdesearch.progress import Silent
from indexer.build import build
from indexer.embedding import spool, stages
from indexer.settings import Options

WINDOW = 15
EVERY_WINDOW = {"STAGED_FROM": 1, "SECONDS": 0.0, "COST_SHARE": float("inf")}


class Told(Silent):
    """Calls a function whenever a stage is published."""

    def __init__(self, when_published):
        self.when_published = when_published

    def note(self, text):
        if text.startswith("Searchable now: "):
            self.when_published(text)


def publish_often(monkeypatch):
    """Publish a stage after each window."""
    monkeypatch.setattr(spool, "WINDOW", WINDOW)
    for name, value in EVERY_WINDOW.items():
        monkeypatch.setattr(stages, name, value)


def stop_at_stage(docs, model, number):
    """Stop a build like Ctrl-C right after it has published this stage, counted from 1."""
    published = []

    def stop(text):
        published.append(text)
        if len(published) == number:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched, pytest.raises(KeyboardInterrupt):
        publish_often(patched)
        build([docs], Options(model=model), Told(stop))
