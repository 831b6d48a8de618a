import os
import signal
import subprocess
import sys

import pytest
from damage import flip_a_byte, overwrite
from typer import Typer
from typer.testing import CliRunner

from indexer.health.command import doctor
from indexer.health.doctor import diagnose


def test_doctor_exits_with_2_and_names_the_file_and_with_0_after_a_repair(sound):
    app = Typer()
    app.command()(doctor)
    run = CliRunner().invoke
    flip_a_byte(sound.path("_indices/"))
    result = run(app, ["--index", str(sound.index)])
    assert result.exit_code == 2 and "_indices/" in result.output and "--repair" in result.output
    assert run(app, ["--index", str(sound.docs), "--repair"]).exit_code == 0
    result = run(app, ["--index", str(sound.docs), "--json"])
    assert result.exit_code == 0 and '"sound": true' in result.output


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_repair_shows_its_stages_and_is_stopped_with_one_line(sound, number, code):
    overwrite(sound.path("manifest.json"))
    command = [sys.executable, "-m", "cdesearch", "doctor", "--repair", "--index", str(sound.index)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line.strip())
            if line.startswith("Looking for files"):
                process.send_signal(number)
                break
        rest = process.stderr.read()
    assert process.returncode == code
    assert lines[0].startswith(f"Checking files of generation {sound.kept}: ")
    assert lines[-2:] == ["The previous generation is whole, and is live again.", "Looking for files"]
    assert rest.splitlines()[-1].startswith("Stopped. ") and "Traceback" not in rest
    assert diagnose(sound.index).is_sound
