import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from built import write_files
from command import cdesearch_process

from cdesearch.cli.agents import json_text
from cdesearch.cli.agents.changes import additions, removals
from cdesearch.cli.agents.clients import NAMES, SKILL, client_of
from cdesearch.cli.agents.command import forget_agents, install_agent
from cdesearch.errors import InputError

# SECTION stands for the key of the agent's section.
JSON_FORMS = {
    "empty": "",
    "empty object": "{}",
    "empty object in lines": "{\n}\n",
    "a space": "{ }\n",
    "a comment alone": "// nothing yet\n",
    "no section": '{\n  "theme": "dark"\n}\n',
    "empty section": '{\n    "SECTION": {}\n}',
    "another server": '{\n\t"SECTION": {\n\t\t"b": {"command": "b"}\n\t},\n\t"z": [1, 2.50, null]\n}\n',
    "one line": '{"SECTION": {"b": {"command": "b", "args": []}}, "a": "\\u00e9 é"}',
    "comments and commas": """// mine
{
  /* first */ "a": 1, // one
  "SECTION": {
    // servers
    "b": {"args": [1,],},
  },
}
""",
    "Windows": '{\r\n  "a": 1,\r\n  "SECTION": {\r\n    "b": {}\r\n  }\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "strings like code": '{\n  "a": "{ // no comment, }",\n  "b": "}"\n}\n',
}
TOML_FORMS = {
    "empty": "",
    "no section": 'model = "gpt"  # mine\n',
    "no last line break": "[profiles.a]\nx = 1",
    "another server": '# servers\n[mcp_servers.b]\ncommand = "b"\nargs = [\n  "x",\n]\n\n\n# the end\n',
    "Windows": 'model = "gpt"\r\n[mcp_servers.b]\r\ncommand = "b"\r\n',
}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """An empty home folder, and its files as bytes by their paths."""
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def files_below(home):
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def prepared(agent, text):
    """The agent, whose file of configuration has a text with its section."""
    client = client_of(agent)
    client.file.parent.mkdir(parents=True, exist_ok=True)
    client.file.write_bytes(text.replace("SECTION", client.sections[-1][0]).encode())
    return client


def value_in(file):
    text = file.read_bytes().decode()
    return tomllib.loads(text) if file.suffix == ".toml" else json_text.value_of(text)


def entry_in(client):
    value = value_in(client.file)
    for key in client.sections[-1]:
        value = value[key]
    return value["cdesearch"]


@pytest.mark.parametrize("agent", NAMES)
def test_without_a_configuration_the_files_are_made_and_removed_with_their_folders(agent, home, capsys):
    install_agent(agent, yes=True)
    client = client_of(agent)
    assert entry_in(client) == client.entry and str(client.file) in capsys.readouterr().out
    assert len(files_below(home)) == (3 if agent == "claude" else 1)
    install_agent(agent, yes=True)
    assert "already knows" in capsys.readouterr().out
    install_agent(agent, uninstall=True, yes=True)
    assert not files_below(home) and not (home / ".claude" / "skills" / "cdesearch").exists()
    install_agent(agent, uninstall=True, yes=True)
    assert "does not know" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        *(
            pytest.param(agent, text, id=f"{agent}, {name}")
            for name, text in JSON_FORMS.items()
            for agent in ("claude", "zed")
        ),
        *(pytest.param("codex", text, id=f"codex, {name}") for name, text in TOML_FORMS.items()),
    ],
)
def test_a_configuration_keeps_its_values_and_its_other_text(agent, text, home):
    client = prepared(agent, text)
    before, value = client.file.read_bytes().decode(), value_in(client.file)
    install_agent(agent, yes=True)
    assert entry_in(client) == client.entry
    changed = value_in(client.file)
    assert {key: changed.get(key) for key in value if key != client.sections[-1][0]} == {
        key: value[key] for key in value if key != client.sections[-1][0]
    }
    assert value.get(client.sections[-1][0], {}).items() <= changed[client.sections[-1][0]].items()
    install_agent(agent, uninstall=True, yes=True)
    if not value.get(client.sections[-1][0], True):  # what is empty is taken out as well
        del value[client.sections[-1][0]]
    assert (value_in(client.file) if client.file.exists() else {}) == value
    if any(value.values()):
        left, emptied = client.file.read_bytes().decode(), f'"{client.sections[-1][0]}": {{}}'
        assert "".join(left.split()) == "".join(before.replace(emptied, "").split())


@pytest.mark.parametrize("agent", ["cursor", "codex", "vscode"])
def test_what_others_changed_since_stays(agent, home):
    form = TOML_FORMS["another server"] if agent == "codex" else JSON_FORMS["comments and commas"]
    client = prepared(agent, form)
    value = value_in(client.file)
    install_agent(agent, yes=True)
    text = client.file.read_text()
    if agent == "codex":
        text = text.replace('"mcp"]', '"mcp"] # edited')
        text += '[mcp_servers.cdesearch.env]\nA = "1"\n\n# new\n[mcp_servers.c]\ncommand = "c"\n'
        value["mcp_servers"]["c"] = {"command": "c"}
    else:
        text = text.replace('"cdesearch": {', '"cdesearch": { "env": {},').replace("// one", '// one\n  "c": 2,')
        value["c"] = 2
    client.file.write_text(text)
    install_agent(agent, uninstall=True, yes=True)
    left = client.file.read_text()
    assert value_in(client.file) == value
    assert all(
        comment in left for comment in (("# new", "# the end") if agent == "codex" else ("// mine", "// servers"))
    )


def test_a_file_that_an_agent_has_written_anew_loses_only_the_entry(home):
    client = prepared("claude", '{"numStartups": 1}')
    install_agent("claude", yes=True)
    written = value_in(client.file) | {"numStartups": 2}
    written["mcpServers"]["other"] = {"command": "x"}
    client.file.write_text(json.dumps(written, indent=4))
    install_agent("claude", uninstall=True, yes=True)
    assert value_in(client.file) == {"numStartups": 2, "mcpServers": {"other": {"command": "x"}}}


@pytest.mark.parametrize(
    ("agent", "text", "reason"),
    [
        ("cursor", '{"a": 1', "line 1"),
        ("cursor", '{"a": 1 "b": 2}', "line 1"),
        ("cursor", "[1]", "it is not one object"),
        ("cursor", '{"mcpServers": []}', "mcpServers is not an object"),
        ("codex", "a = ", "Invalid value"),
        ("codex", "mcp_servers = {b = {command = 'b'}}\n", "cannot be changed"),
    ],
)
def test_a_file_that_cannot_be_understood_is_not_touched(agent, text, reason, home):
    prepared(agent, text)
    before = files_below(home)
    with pytest.raises(InputError, match="cannot be changed") as error:
        install_agent(agent, yes=True)
    assert reason in str(error.value) and files_below(home) == before


def test_an_entry_of_the_same_name_stays(home):
    client = prepared("cursor", '{"mcpServers": {"cdesearch": {"command": "mine"}}}')
    assert additions(client) == [] and len(removals(client)) == 1
    before = client.file.read_text()
    forget_agents()  # as `clear --everything`
    assert client.file.read_text() == before


def test_a_skill_that_the_user_has_changed_stays(home):
    install_agent("claude", yes=True)
    skill = home / ".claude" / "skills" / "cdesearch" / "SKILL.md"
    skill.write_text(SKILL + "\nMine.\n")
    install_agent("claude", uninstall=True, yes=True)
    assert skill.read_text().endswith("Mine.\n") and not (home / ".claude.json").exists()
    assert [*skill.parent.iterdir()] == [skill]


def test_claude_code_lists_the_skill_as_a_plugin(home):
    install_agent("claude", yes=True)
    folder = home / ".claude" / "skills" / "cdesearch"
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == folder.name and f"name: {folder.name}\n" in (folder / "SKILL.md").read_text()


def test_a_link_stays_a_link_and_permissions_stay(home):
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}\n')
    real.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    install_agent("cursor", yes=True)
    assert "cdesearch" in real.read_text() and real.stat().st_mode & 0o777 == 0o640
    install_agent("cursor", uninstall=True, yes=True)
    assert (home / ".cursor" / "mcp.json").is_symlink() and json.loads(real.read_text()) == {"a": 1}


def test_opencode_has_two_forms_and_two_names(home):
    text = '{\n  "mcp": {\n    "servers": {}\n  }\n}\n'
    folder = write_files(home / ".config" / "opencode", {"opencode.jsonc": text})
    install_agent("opencode", yes=True)
    found = value_in(folder / "opencode.jsonc")["mcp"]
    assert list(found) == ["servers"] and found["servers"]["cdesearch"]["type"] == "local"


def test_all_agents_forget_at_once(home):
    client = prepared("zed", JSON_FORMS["comments and commas"])
    before = value_in(client.file)
    for agent in NAMES:
        install_agent(agent, yes=True)
    forget_agents()
    assert [*files_below(home)] == [client.file.relative_to(home).as_posix()] and value_in(client.file) == before


def test_the_command_of_the_entry_starts_the_server_in_any_folder(home):
    command, *arguments = [client_of("cursor").entry["command"], *client_of("cursor").entry["args"]]
    assert Path(command).is_absolute() and arguments[-1] == "mcp"
    write_files(home / "cdesearch", {"__main__.py": "raise SystemExit(9)"})
    run = subprocess.run([command, *arguments, "--help"], cwd=home, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "MCP" in run.stdout


def test_a_program_in_the_cache_of_uv_is_started_through_uv(monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/home/a/.cache/uv/archive-v0/b")
    monkeypatch.setenv("UV", "/usr/bin/uv")
    assert client_of("opencode").entry["command"] == ["/usr/bin/uv", "tool", "run", "cdesearch", "mcp"]


def test_the_command_shows_the_changes_and_asks(home):
    run = cdesearch_process("install-agent", "cursor", cwd=home, code=2, HOME=str(home))
    assert "Add --yes." in run.stderr and not files_below(home)
    assert f"{home / '.cursor' / 'mcp.json'} (new)" in run.stdout and '+     "cdesearch": {' in run.stdout
