from cdesearch.progress import Silent
from trainer.adapting.clock import SAVE_SECONDS, SavingDisplay


def test_the_used_time_is_saved_now_and_then_and_not_at_every_step():
    now, saved = [0.0], []
    display = SavingDisplay(Silent(), lambda: saved.append(now[0]), lambda: now[0])
    for name in ("first", "second"):
        advance = display.stage(name, 4)
        for _ in range(4):
            now[0] += SAVE_SECONDS / 2
            advance(1)
    assert saved == [SAVE_SECONDS, 2 * SAVE_SECONDS, 3 * SAVE_SECONDS, 4 * SAVE_SECONDS]
