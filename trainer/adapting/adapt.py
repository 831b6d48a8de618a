"""Fit the model of an index to its corpus, in phases that the same command continues after an interruption.

bodies      coCondenser on the bodies of the chunks                -> pretraining/checkpoint
headings    training on headings and bodies, with a mined negative -> training/checkpoint
choice      the mean of this and the start that held-out headings choose -> model, or nothing
"""

from dataclasses import dataclass
from pathlib import Path

from trainer.reporting import not_a_program

if __name__ == "__main__":
    not_a_program("trainer.adapting.adapt", "Run `cdesearch adapt INDEX`.")

from cdesearch.encode.load import load_tokenizer
from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Display
from cdesearch.store.index import Index
from cdesearch.terminal import counted
from trainer.adapting.corpus import Corpus, read_corpus
from trainer.adapting.held_out_ranks import reciprocal_ranks
from trainer.adapting.own_pairs import own_pairs, write_bodies, write_pairs
from trainer.adapting.pace import device_here, pretraining_pace, training_pace
from trainer.adapting.phases import enough_pairs, pretraining_recipe, training_recipe
from trainer.adapting.share import SHARES, Chosen, choose_share
from trainer.adapting.start import start_of
from trainer.adapting.work_folder import MODEL, Work, WorkFolder
from trainer.data.pairs.reading import Pair
from trainer.data.stored import digest_of
from trainer.export import export
from trainer.merge import merge
from trainer.mine import Mining, mine
from trainer.pretraining.pretrain import pretrain
from trainer.run.checkpoint import STATE
from trainer.run.folder import locked
from trainer.run.stop import terminable
from trainer.train import train

SEED = 0
PRETRAINING, TRAINING = 0.4, 0.3  # shares of the time; the rest is for mining, measuring and writing
LEAST_STEPS = 12
HELD_OUT_A_MINUTE = 30  # chunks that are encoded once for each share
LEAST_HELD_OUT, MOST_HELD_OUT = 150, 2000
TIMED_STEPS = 3  # of a recipe by which the time of a step is measured


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
        adapting = _Adapting(corpus, start, folder, display)
        return adapting.finished(adapting.measured(adapting.trained(folder.load(key, minutes))))


class _Adapting:
    """The phases, each of which takes and returns the work so far."""

    def __init__(self, corpus: Corpus, start: Path, folder: WorkFolder, display: Display) -> None:
        self._corpus = corpus
        self._start = start
        self._folder = folder
        self._display = display

    def trained(self, work: Work) -> Work:
        """Both phases of training, unless they are complete."""
        if work.chosen is not None or (self._path("training") / "checkpoint").is_dir():
            return work
        work = self._folder.save(work)
        pairs = own_pairs(self._corpus.trained)
        self._display.note(
            f"{counted(len(self._corpus.trained), 'chunk')} and {counted(len(pairs), 'heading')} to learn from,"
            f" {counted(len(self._corpus.held_out), 'chunk')} and {counted(len(self._corpus.questions), 'heading')}"
            " to measure the result by"
        )
        work = self._pretrained(work)
        return self._trained_on(pairs, work) if enough_pairs(pairs) else work

    def measured(self, work: Work) -> Work:
        """The reciprocal ranks of all shares, each of which is stored at once."""
        if work.chosen is not None:
            return work
        tokenizer, device = load_tokenizer(self._start / "tokenizer.json"), device_here()
        advance = self._display.stage("Measuring", len(SHARES))
        for share in SHARES:
            if str(share) not in work.ranks:
                model = merge({self._start: 1 - share, self._adapted: share}).to(device)
                ranks = reciprocal_ranks(model, tokenizer, self._corpus, device)
                work = self._folder.save(work, ranks={**work.ranks, str(share): ranks.tolist()})
            advance(1)
        return work

    def finished(self, work: Work) -> Adapted:
        """Choose the share, and write the model."""
        chosen = choose_share({float(share): ranks for share, ranks in work.ranks.items()})
        target = self._path(MODEL)
        if chosen.share and not (work.chosen is not None and target.is_dir()):
            self._display.note(f"Writing {target}")
            merged = merge({self._start: 1 - chosen.share, self._adapted: chosen.share})
            export(merged, self._start / "tokenizer.json", target, "int8")
        self._folder.save(work, chosen=chosen.share)
        self._folder.clear()
        return Adapted(chosen, len(self._corpus.questions), target if chosen.share else None)

    @property
    def _adapted(self) -> Path:
        """The checkpoint of the last phase; an index with few headings has only the first."""
        last = self._path("training") / "checkpoint"
        return last if last.is_dir() else self._path("pretraining") / "checkpoint"

    def _pretrained(self, work: Work) -> Work:
        bodies, out = self._path("bodies") / "bodies.jsonl", self._path("pretraining")
        if (out / "checkpoint").is_dir():
            return work
        bodies.parent.mkdir(exist_ok=True)
        write_bodies(self._corpus.trained, bodies)
        if work.pretraining_steps is None:
            self._display.stage("Measuring the time of a step", None)
            pace = pretraining_pace(pretraining_recipe(self._start, bodies, out, TIMED_STEPS))
            work = self._folder.save(work, pretraining_steps=_steps(work.minutes, PRETRAINING, pace))
        assert work.pretraining_steps is not None
        recipe = pretraining_recipe(self._start, bodies, out, work.pretraining_steps)
        pretrain(recipe, self._display, resume=(out / STATE).exists())
        return work

    def _trained_on(self, pairs: list[Pair], work: Work) -> Work:
        file, mined, out = self._path("pairs") / "headings.jsonl", self._path("mined"), self._path("training")
        file.parent.mkdir(exist_ok=True)
        write_pairs(pairs, file)
        if not (mined / "headings.jsonl.gz").exists():
            mine([("headings", pairs)], [file], mined, Mining(count=1, depth=100, seed=SEED), self._display)
        start = self._path("pretraining") / "checkpoint"
        model = load_checkpoint(start)
        if work.training_steps is None:
            self._display.stage("Measuring the time of a step", None)
            pace = training_pace(training_recipe(start, mined, out, TIMED_STEPS, model), pairs)
            work = self._folder.save(work, training_steps=_steps(work.minutes, TRAINING, pace))
        assert work.training_steps is not None
        recipe = training_recipe(start, mined, out, work.training_steps, model)
        train(recipe, self._display, resume=(out / STATE).exists())
        return work

    def _path(self, name: str) -> Path:
        return self._folder.path / name


def _steps(minutes: float, share: float, pace: float) -> int:
    """How many steps of `pace` seconds fit into a share of the time."""
    return max(LEAST_STEPS, int(60 * minutes * share / pace))
