"""Fit the model of an index to its corpus, in phases that the same command continues after an interruption.

bodies      coCondenser on the bodies of the chunks                -> pretraining/checkpoint
headings    training on headings and bodies, with a mined negative -> training/checkpoint
choice      the mean of this and the start that held-out headings choose -> model, or nothing
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
from trainer.adapting.corpus import Corpus, read_corpus
from trainer.adapting.held_out_ranks import reciprocal_ranks
from trainer.adapting.own_pairs import own_pairs, write_bodies, write_pairs
from trainer.adapting.pace import FIRST, TIMED, device_here, pretraining_pace, training_pace
from trainer.adapting.phases import enough_pairs, pretraining_recipe, training_recipe
from trainer.adapting.share import SHARES, Chosen, choose_share
from trainer.adapting.start import start_of
from trainer.adapting.timed_run import run_until
from trainer.adapting.work_folder import MODEL, Work, WorkFolder
from trainer.data.pairs.reading import Pair
from trainer.data.stored import digest_of
from trainer.export import export, note_missing_graphs
from trainer.merge import merge
from trainer.mine import Mining, mine
from trainer.pretraining.pretrain import pretrain
from trainer.run.folder import claim_folder, locked
from trainer.run.stop import terminable
from trainer.train import train

SEED = 0
PRETRAINED, TRAINED = 0.45, 0.75  # shares of the time after which a phase ends; the rest is to measure and to write
PLANNED = 0.9  # of the time of a phase is planned for its steps, so that few are lost if the machine becomes slower
LEAST_STEPS = 12  # of a phase
TOO_FEW_STEPS = (
    LEAST_STEPS // 2
)  # by the measured time, which varies: twice the time of the advice is not refused again
HELD_OUT_A_MINUTE = 60  # chunks that are encoded once for each share
LEAST_HELD_OUT, MOST_HELD_OUT = 150, 2000
TIMED_STEPS = FIRST + TIMED  # of a recipe by which the time of a step is measured


class TooSlowError(InputError):
    """Too few steps fit into the time, so that no work has begun."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """What was chosen on how many headings, and the checkpoint; None if nothing was gained."""

    chosen: Chosen
    n_questions: int
    model: Path | None


def adapt(index: Index, out: Path, minutes: float, display: Display) -> Adapted:
    """Adapt the model of an index in about `minutes`, and write it to `out`/model if held-out headings prove a gain.

    If the function is stopped, the next call continues. Raises CdesearchError.
    """
    start = start_of(index)
    folder = WorkFolder(out)
    n_held_out = int(min(MOST_HELD_OUT, max(LEAST_HELD_OUT, HELD_OUT_A_MINUTE * minutes)))
    display.stage("Reading chunks", None)
    corpus = read_corpus(index, n_held_out, SEED)
    with terminable(), locked(out, "--out"):
        key = digest_of([corpus.digest, index.manifest.model_fingerprint])
        adapting = _Adapting(corpus, start, folder, folder.load(key, minutes), display)
        try:
            adapting.train()
            adapting.measure()
            return adapting.finish()
        except KeyboardInterrupt:
            adapting.save()
            raise
        except TooSlowError:
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
        """Both phases of training."""
        if self._work.chosen is not None or self._work.trained is not None:
            return
        self.save()
        pairs = own_pairs(self._corpus.trained)
        self._display.note(
            f"{counted(len(self._corpus.trained), 'chunk')} and {counted(len(pairs), 'heading')} to learn from,"
            f" {counted(len(self._corpus.held_out), 'chunk')} and {counted(len(self._corpus.questions), 'heading')}"
            f" to measure the result by; about {counted(round(self._clock.left(1) / 60), 'minute')}"
        )
        last = self._pretrained()
        if enough_pairs(pairs):
            trained = self._trained(pairs, last)
            if trained is None:
                self._display.note("No time is left to learn from the headings")
            last = trained or last
        self.save(trained=last.relative_to(self._folder.path).as_posix())

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
        """The checkpoint of the last phase; an index with few headings has only the first."""
        assert self._work.trained is not None
        return self._path(self._work.trained)

    def _pretrained(self) -> Path:
        """The checkpoint of coCondenser; raises TooSlowError if too few steps fit into the time."""
        bodies, out = self._path("bodies") / "bodies.jsonl", self._path("pretraining")
        if (out / "checkpoint").is_dir():
            return out / "checkpoint"
        bodies.parent.mkdir(exist_ok=True)
        write_bodies(self._corpus.trained, bodies)
        claim_folder(out)
        if self._work.pretraining_steps is None:
            self._display.stage("Measuring the time of a step", None)
            pace = pretraining_pace(pretraining_recipe(self._start, bodies, out, TIMED_STEPS))
            n_steps = self._steps(PRETRAINED, pace)
            if n_steps < TOO_FEW_STEPS:
                needed = math.ceil((LEAST_STEPS * pace / PLANNED + self._clock.used) / (60 * PRETRAINED)) + 1
                raise TooSlowError(
                    f"A step takes {pace:.2g} seconds here, so too few fit into the time.",
                    f"Give --minutes {needed} or more.",
                )
            self.save(pretraining_steps=max(LEAST_STEPS, n_steps))
        assert self._work.pretraining_steps is not None
        recipe = pretraining_recipe(self._start, bodies, out, self._work.pretraining_steps)
        checkpoint = run_until(pretrain, recipe, self._display, self._clock.limit(PRETRAINED))
        assert checkpoint is not None  # the texts are tokenised by now, so the limit is checked after a step
        return checkpoint

    def _trained(self, pairs: list[Pair], start: Path) -> Path | None:
        """The checkpoint of training on headings; None if there is no time for a step."""
        file, mined, out = self._path("pairs") / "headings.jsonl", self._path("mined"), self._path("training")
        if (out / "checkpoint").is_dir():
            return out / "checkpoint"
        if not self._clock.left(TRAINED):
            return None
        file.parent.mkdir(exist_ok=True)
        write_pairs(pairs, file)
        if not (mined / "headings.jsonl.gz").exists():
            mine([("headings", pairs)], [file], mined, Mining(count=1, depth=100, seed=SEED), self._display)
        model = load_checkpoint(start)
        if self._work.training_steps is None:
            self._display.stage("Measuring the time of a step", None)
            pace = training_pace(training_recipe(start, mined, out, TIMED_STEPS, model), pairs)
            self.save(training_steps=self._steps(TRAINED, pace))
        assert self._work.training_steps is not None
        if self._work.training_steps < LEAST_STEPS:
            return None
        recipe = training_recipe(start, mined, out, self._work.training_steps, model)
        return run_until(train, recipe, self._display, self._clock.limit(TRAINED))

    def _steps(self, share: float, pace: float) -> int:
        """How many steps of `pace` seconds fit into what is left of the time of a phase."""
        return int(PLANNED * self._clock.left(share) / pace)

    def _path(self, name: str) -> Path:
        return self._folder.path / name
