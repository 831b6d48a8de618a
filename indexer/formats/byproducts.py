"""Recognise, by their names and by the files beside or in them, what programs write for programs, and credentials."""

import re

LOCK_FILES = frozenset({
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
    "cargo.lock", "poetry.lock", "uv.lock", "pdm.lock", "pylock.toml", "pipfile.lock", "pixi.lock", "conda-lock.yml",
    "go.sum", "go.work.sum", "gemfile.lock", "composer.lock", "symfony.lock", "mix.lock", "rebar.lock", "pubspec.lock",
    "podfile.lock", "package.resolved", "cartfile.resolved", "packages.lock.json", "paket.lock", "flake.lock",
    "gradle.lockfile", "cabal.project.freeze", "stack.yaml.lock", "module.bazel.lock", "shard.lock",
})  # fmt: skip
MINIFIED = (".min.js", ".min.mjs", ".min.cjs", ".min.css", "-min.js", "-min.css", ".bundle.js")
DEVHELP = (".devhelp", ".devhelp2", ".devhelp.gz", ".devhelp2.gz")  # lists of the pages beside them, for a program
# Folders, and files of the tools that fill them. Without such a file beside it, a folder `build` may hold documents.
BUILD_FOLDERS = {
    "build": ("pyproject.toml", "setup.py", "package.json", "build.gradle", "build.gradle.kts"),
    "dist": ("pyproject.toml", "setup.py", "package.json"),
    "target": ("Cargo.toml", "pom.xml", "build.sbt", "project.clj"),
    "_build": ("conf.py", "mix.exs", "dune-project", "rebar.config"),
    "coverage": ("package.json",),
    "htmlcov": ("pyproject.toml", "setup.py", "setup.cfg"),
    "zig-out": ("build.zig",),
    "zig-cache": ("build.zig",),
}
ALWAYS = {"__pycache__": "compiled code", "node_modules": "installed packages"}  # no other folder has these names
INSTALLED = {
    "bower_components": ("bower.json", "package.json"),
    "elm-stuff": ("elm.json",),
    "vendor": ("composer.json", "go.mod"),
    "Pods": ("Podfile",),
    "deps": ("mix.exs",),
}
MARKERS = {
    "pyvenv.cfg": "virtual environment",
    "CACHEDIR.TAG": "cache",
    "CMakeCache.txt": "build folder",
}  # files that a program writes into a folder of its own
# Credentials and private keys, as the names of files or with their folder
SECRETS = re.compile(
    r"(?:[^/]*/)?(?:"
    r"(?P<folder>\.(?:aws|azure|gnupg|ssh|password-store)/?)"
    r"|\.envrc|\.env(?:[._-](?!example|sample|template|tmpl|dist|defaults?$).*)?|(?!example|sample|template)[^/.]*\.env"
    r"|env\.(?:local|prod(?:uction)?|dev(?:elopment)?|staging)"
    r"|[^/]*\.(?:p12|pfx|ppk|jks|keystore|kdbx?|token|tfstate(?:\.backup)?)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
    r"|(?:client_secret|service[-_]?account)[^/]*\.json|application_default_credentials\.json|pgpass\.conf|logins\.json"
    r"|(?:credentials|accesskeys|rootkey)[^/]*\.csv|[^/]*passwords?\.csv|(?:lastpass|bitwarden|1password)[^/]*export[^/]*"
    r"|[._]?(?:netrc|npmrc|pypirc|pgpass|htpasswd|my\.cnf|s3cfg|boto|dockercfg|git-credentials|vault-token|token)"
    r"|(?:access_)?token"
    r"|(?:(?:access_)?token|credentials(?: \(\d+\))?|secrets?)\.(?:json|ya?ml|toml|txt|ini|properties)"
    r"|credentials|\.?docker/config\.json|\.?kube/config|[^/]*kubeconfig(?:\.ya?ml)?|\.cargo/credentials\.toml|gh/hosts\.yml|rclone\.conf"
    r")",
    re.IGNORECASE | re.DOTALL,
)


def secret_rule(path: str, *, is_folder: bool) -> str | None:
    """The rule that excludes an entry because it holds credentials or a private key; None if there is none."""
    parts = path.rsplit("/", 2)
    found = SECRETS.fullmatch("/".join(parts[-2:]))
    is_secret = found is not None and (found["folder"] is not None) == is_folder
    return f"credentials or private key ({parts[-1]})" if is_secret else None


def byproduct_rule(name: str, names: frozenset[str], *, is_folder: bool) -> str | None:
    """The rule that excludes an entry, whose folder has entries of these `names`; None if there is none."""
    lower, rule = name.lower(), None
    if is_folder and name in ALWAYS:
        rule = f"{ALWAYS[name]} ({name})"
    elif is_folder:
        kind = "build folder" if name in BUILD_FOLDERS else "installed packages"
        found = next((file for file in (BUILD_FOLDERS | INSTALLED).get(name, ()) if file in names), None)
        rule = found and f"{kind} (beside {found})"
    elif lower in LOCK_FILES or name.startswith("~$"):  # such as ~$report.docx of Word
        rule = "lock file"
    elif lower.endswith((*MINIFIED, *DEVHELP)):
        rule = "minified code" if lower.endswith(MINIFIED) else "index of Devhelp"
    return rule or _accompanying(name, names)


def _accompanying(name: str, names: frozenset[str]) -> str | None:
    """The rule for files that are stored with documents but are not documents; None if there is none."""
    if "searchindex.js" in names and (
        name in ("_sources", "_static", "search.html", "searchindex.js") or name.startswith("genindex")
    ):
        return "search page or asset of Sphinx"
    if "corpus.jsonl" in names and "queries.jsonl" in names and name in ("queries.jsonl", "qrels"):
        return "queries and judgements of a BEIR folder"
    return None
