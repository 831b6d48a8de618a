"""Fit the model of an index to its corpus, in phases that the same command continues after an interruption.

train     on sentences and the passages around them, and on headings and the bodies below them -> training/checkpoint
measure   how high the start and its means with the trained model rank the passages of held-out sentences
finish    the mean that these choose -> model, or nothing
"""

import math
from dataclasses import dataclass
from pathlib import Path

from trainer.reporting import not_a_program

if __name__ == "__main__":
    not_a_program("trainer.adapting.adapt", "Run `cdesearch adapt INDEX`.")

from cdesearch.encode.load import load_tokenizer
from cdesearch.errors import InputError
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Display
from cdesearch.store.index import Index
from cdesearch.terminal import counted
from trainer.adapting.clock import Clock, SavingDisplay
from trainer.adapting.corpus import Corpus, TooLittleTextError, read_corpus
from trainer.adapting.held_out_ranks import reciprocal_ranks
from trainer.adapting.own_pairs import own_pairs, write_pairs
from trainer.adapting.own_recipe import enough_pairs, training_recipe
from trainer.adapting.pace import FIRST, TIMED, device_here, training_pace
from trainer.adapting.share import SHARES, Chosen, choose_share
from trainer.adapting.start import start_of
from trainer.adapting.timed_run import train_until
from trainer.adapting.work_folder import MODEL, Work, WorkFolder
from trainer.data.pairs.reading import Pair
from trainer.data.stored import digest_of
from trainer.export import export, note_missing_graphs
from trainer.merge import merge
from trainer.mine import Mining, mine
from trainer.recipe import Recipe
from trainer.run.folder import locked
from trainer.run.stop import terminable

SEED = 0
NAME = "pairs"  # of the file, which progress shows
TRAINED = 0.8  # share of the time after which training ends; the rest is to measure and to write
PLANNED = 0.9  # of the time for training is planned for its steps, so that few are lost if the machine becomes slower
LEAST_STEPS = 12
# By the measured time, which varies: twice the time of the advice is not refused again.
TOO_FEW_STEPS = LEAST_STEPS // 2
HELD_OUT_A_MINUTE = 60  # chunks that are encoded once for each share
LEAST_HELD_OUT, MOST_HELD_OUT = 150, 2000
TIMED_STEPS = FIRST + TIMED  # of a recipe by which the time of a step is measured


class TooSlowError(InputError):
    """Too few steps fit into the time, so that the folder of the work is removed."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """What was chosen by how many sentences, and the checkpoint; None if nothing was gained."""

    chosen: Chosen
    n_questions: int
    model: Path | None


def adapt(index: Index, out: Path, minutes: float, display: Display) -> Adapted:
    """Adapt the model of an index in about `minutes`, and write it to `out`/model if held-out sentences prove a gain.

    If the function is stopped, the next call continues. Raises CdesearchError.
    """
    start = start_of(index)
    folder = WorkFolder(out)
    n_held_out = int(min(MOST_HELD_OUT, max(LEAST_HELD_OUT, HELD_OUT_A_MINUTE * minutes)))
    display.stage("Reading chunks", None)
    corpus = read_corpus(index, n_held_out, SEED)
    with terminable(), locked(out, "--out"):
        key = digest_of([corpus.digest, index.manifest.model_fingerprint])
        adapting = _Adapting(corpus, start, folder, folder.load(key, minutes, display.note), display)
        try:
            adapting.train()
            adapting.measure()
            return adapting.finish()
        except KeyboardInterrupt:
            adapting.save()
            raise
        except (TooLittleTextError, TooSlowError):
            folder.abandon()
            raise


class _Adapting:
    """The phases, each of which does what is not done yet."""

    def __init__(self, corpus: Corpus, start: Path, folder: WorkFolder, work: Work, display: Display) -> None:
        self._corpus = corpus
        self._start = start
        self._folder = folder
        self._work = work
        self._clock = Clock(work.minutes, work.seconds)
        self._display = SavingDisplay(display, self.save)

    def save(self, **changes: object) -> None:
        """Store what is done, with some changes; raises StorageError."""
        self._work = self._folder.save(self._work, **changes, seconds=self._clock.used)

    def train(self) -> None:
        """Train on the pairs until its share of the time is used; raises TooSlowError if too few steps fit into it."""
        if self._work.chosen is not None or self._adapted.is_dir():
            return
        pairs = self._pairs()
        self.save()
        pace = self._pace(pairs) if self._work.steps is None else None
        self._mine(pairs)
        if pace is not None:  # only now, because mining takes some of the time
            self.save(steps=self._steps(pace))
        assert self._work.steps is not None
        if train_until(self._recipe(self._work.steps), self._display, self._clock.limit(TRAINED)) is None:
            raise TooSlowError("No time is left for a step of training.", f"Give --minutes {2 * self._work.minutes:g}.")

    def measure(self) -> None:
        """The reciprocal ranks with all shares, each of which is stored at once."""
        if self._work.chosen is not None:
            return
        tokenizer, device = load_tokenizer(self._start / "tokenizer.json"), device_here()
        advance = self._display.stage("Measuring", len(SHARES))
        for share in SHARES:
            if str(share) not in self._work.ranks:
                model = merge({self._start: 1 - share, self._adapted: share}).to(device)
                ranks = reciprocal_ranks(model, tokenizer, self._corpus, device)
                self.save(ranks={**self._work.ranks, str(share): ranks.tolist()})
            advance(1)

    def finish(self) -> Adapted:
        """Choose the share, and write the model."""
        chosen = choose_share({float(share): ranks for share, ranks in self._work.ranks.items()})
        target = self._path(MODEL)
        if chosen.share and self._work.chosen is None:
            self._display.note(f"Writing {target}")
            merged = merge({self._start: 1 - chosen.share, self._adapted: chosen.share})
            note_missing_graphs(merged)
            export(merged, self._start / "tokenizer.json", target, "int8")
        self.save(chosen=chosen.share)
        self._folder.clear()
        return Adapted(chosen, len(self._corpus.questions), target if chosen.share else None)

    @property
    def _adapted(self) -> Path:
        """The checkpoint of training."""
        return self._path("training") / "checkpoint"

    def _pairs(self) -> list[Pair]:
        """The pairs to train on; raises TooLittleTextError if there are too few."""
        pairs = own_pairs(self._corpus.trained, SEED)
        if not enough_pairs(pairs):
            raise TooLittleTextError(
                "The index has too few sentences and headings to learn from.", "Keep the model of the index."
            )
        self._display.note(
            f"{counted(len(self._corpus.trained), 'chunk')} to learn from, and"
            f" {counted(len(self._corpus.questions), 'held-out sentence')} to measure the result by;"
            f" about {counted(round(self._clock.left(1) / 60), 'minute')}"
        )
        return pairs

    def _pace(self, pairs: list[Pair]) -> float:
        """The seconds of a step; raises TooSlowError if too few fit into the time."""
        self._display.stage("Measuring the time of a step", None)
        pace = training_pace(self._recipe(TIMED_STEPS), pairs)
        self._steps(pace)
        return pace

    def _mine(self, pairs: list[Pair]) -> None:
        """Write the pairs with hard negatives."""
        file = self._path("pairs") / f"{NAME}.jsonl"
        if not (self._path("mined") / f"{NAME}.jsonl.gz").exists():
            file.parent.mkdir(exist_ok=True)
            write_pairs(pairs, file)
            mine([(NAME, pairs)], [file], self._path("mined"), Mining(count=1, depth=100, seed=SEED), self._display)

    def _recipe(self, n_steps: int) -> Recipe:
        mined, out = self._path("mined"), self._path("training")
        return training_recipe(self._start, mined, out, n_steps, load_checkpoint(self._start))

    def _steps(self, pace: float) -> int:
        """How many steps of `pace` seconds fit into what is left of the time for training; raises TooSlowError."""
        n_steps = int(PLANNED * self._clock.left(TRAINED) / pace)
        if n_steps < TOO_FEW_STEPS:
            needed = math.ceil((LEAST_STEPS * pace / PLANNED + self._clock.used) / (60 * TRAINED)) + 1
            raise TooSlowError(
                f"A step takes {pace:.2g} seconds here, so too few fit into the time.",
                f"Give --minutes {needed} or more.",
            )
        return max(LEAST_STEPS, n_steps)

    def _path(self, name: str) -> Path:
        return self._folder.path / name
