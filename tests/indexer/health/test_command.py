from damage import flip_a_byte
from typer import Typer
from typer.testing import CliRunner

from indexer.health.command import doctor


def test_doctor_ends_with_2_and_names_the_file_and_with_0_after_repair(sound):
    app = Typer()
    app.command()(doctor)
    run = CliRunner().invoke
    flip_a_byte(sound.path("_indices/"))
    result = run(app, ["--index", str(sound.index)])
    assert result.exit_code == 2 and "_indices/" in result.output and "--repair" in result.output
    assert run(app, ["--index", str(sound.docs), "--repair"]).exit_code == 0
    result = run(app, ["--index", str(sound.docs), "--json"])
    assert result.exit_code == 0 and '"sound": true' in result.output
