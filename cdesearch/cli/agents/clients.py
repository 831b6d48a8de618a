"""Where each agent documents its configuration of MCP servers, and what it is told of `cdesearch mcp`."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

NAME = "cdesearch"  # of the entry
Name = Literal["claude", "codex", "cursor", "opencode", "vscode", "zed"]
NAMES: tuple[Name, ...] = get_args(Name)
SKILL = """---
name: cdesearch
description: Search the user's indexed files, notes and documentation by meaning, with the MCP server cdesearch. Useful
  for questions about what files say or where something is done when the exact words are unknown, and for PDF, Office,
  HTML and mail.
---

# Search with cdesearch

The MCP server `cdesearch` searches the index of the project, or the indexes of the list `cdesearch indexes`.

- `search`: ask one specific question. Each passage has a location, a confidence and an age.
- `read`: its `path` may be a location such as `docs/a.md:40-60`; give it `context` for the lines around it.
- `related`: passages of other files that are similar to a location.
- `outline`: the headings or definitions of a file with their lines, or the contents of a folder.

It goes well with grep and other tools: they find exact strings, this finds meaning. A confidence below 10% means that
the files probably do not answer the question. A folder without an index is indexed by `cdesearch index FOLDER`.
"""
# With this file, Claude Code lists the folder of the skill as a plugin, which can be switched off.
PLUGIN = """{
  "name": "cdesearch",
  "description": "Search indexed files, notes and documentation by meaning, with the MCP server cdesearch."
}
"""


@dataclass(frozen=True, slots=True)
class Client:
    """An agent: its name, its file of configuration, and the entry of the server in it."""

    title: str
    file: Path
    sections: tuple[tuple[str, ...], ...]  # the keys above the entry; the first that exist, or else the last, are used
    entry: dict[str, Any]
    texts: tuple[tuple[Path, str], ...] = ()  # further files, which explain the server to the agent


def client_of(name: Name) -> Client:
    """The agent with this name, with the paths that hold for this user and system."""
    command, *arguments = server_command()
    stdio = {"type": "stdio", "command": command, "args": arguments}
    plain = {"command": command, "args": arguments}
    home = Path.home()
    claude, codex = _folder("CLAUDE_CONFIG_DIR", home), _folder("CODEX_HOME", home / ".codex")
    skill = (home / ".claude" if claude == home else claude) / "skills" / NAME
    opencode = _configuration() / "opencode" / "opencode.jsonc"
    clients: dict[Name, Client] = {
        "claude": Client(
            "Claude Code", claude / ".claude.json", (("mcpServers",),), stdio,
            ((skill / "SKILL.md", SKILL), (skill / ".claude-plugin" / "plugin.json", PLUGIN)),
        ),
        "codex": Client("Codex", codex / "config.toml", (("mcp_servers",),), plain),
        "cursor": Client("Cursor", home / ".cursor" / "mcp.json", (("mcpServers",),), plain),
        "opencode": Client(
            "OpenCode", opencode if opencode.exists() else opencode.with_suffix(".json"),
            (("mcp", "servers"), ("mcp",)), {"type": "local", "command": [command, *arguments], "enabled": True},
        ),
        "vscode": Client("VS Code", _settings("Code", "Code/User") / "mcp.json", (("servers",),), stdio),
        "zed": Client("Zed", _settings("Zed", "zed") / "settings.json", (("context_servers",),), plain),
    }  # fmt: skip
    return clients[name]


def server_command() -> list[str]:
    """The command of `cdesearch mcp` with absolute paths, because agents often start programs without the user's PATH.

    `uvx` runs programs from a cache, where they may vanish, so it is asked to start this one again.
    """
    if "archive-v0" in Path(sys.prefix).parts:
        return [os.environ.get("UV") or shutil.which("uv") or "uv", "tool", "run", NAME, "mcp"]
    script = shutil.which(NAME, path=str(Path(sys.executable).parent))
    # Without -P, a folder of the same name in a project would be run.
    return [script, "mcp"] if script else [sys.executable, "-P", "-m", NAME, "mcp"]


def _folder(variable: str, default: Path) -> Path:
    return Path(os.environ.get(variable) or default)


def _configuration() -> Path:
    return _folder("XDG_CONFIG_HOME", Path.home() / ".config")


def _settings(on_windows: str, elsewhere: str) -> Path:
    """The folder of an editor's settings. VS Code has a folder `User` in it, and its own place on macOS."""
    if sys.platform == "win32":
        folder = _folder("APPDATA", Path.home() / "AppData" / "Roaming") / on_windows
        return folder / "User" if on_windows == "Code" else folder
    if sys.platform == "darwin" and on_windows == "Code":
        return Path.home() / "Library" / "Application Support" / "Code" / "User"
    return _configuration() / elsewhere
