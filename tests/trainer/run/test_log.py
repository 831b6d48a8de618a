import json

from trainer.run.folder import LOG, Log, read_log


def test_a_resumed_run_removes_a_line_that_a_kill_has_cut_off_before_it_writes_the_next_one(tmp_path):
    log = Log(tmp_path, anew=True)
    for step in (1, 2):
        log.write(step, 0.5, {"loss": 1.0})
    with (tmp_path / LOG).open("a") as file:
        file.write('{"step": 3, "seco')
    Log(tmp_path, anew=False).write(3, 0.7, {"loss": 0.9})
    assert [json.loads(line)["step"] for line in (tmp_path / LOG).read_text().splitlines()] == [1, 2, 3]
    assert [line["loss"] for line in read_log(tmp_path)] == [1.0, 1.0, 0.9]
