import re
import shlex
from itertools import pairwise
from pathlib import Path

from trainer.pretraining.recipe import load_pretraining_recipe
from trainer.recipe import load_recipe, parse_override

ROOT = Path(__file__).parents[2]
LOADERS = {"train": load_recipe, "pretrain": load_pretraining_recipe}


def commands(file):
    """The words of each `cdesearch train` and `cdesearch pretrain` in the comments of a file."""
    comments = "\n".join(re.findall(r"^#\s*(.*)$", file.read_text(encoding="utf-8"), re.MULTILINE))
    lines = comments.replace("\\\n", " ").splitlines()
    return [shlex.split(found[0]) for line in lines if (found := re.search(r"cdesearch (pre)?train .*", line))]


def test_the_commands_in_comments_set_keys_that_their_recipe_has():
    found = [words for file in sorted((ROOT / "trainer/recipes").glob("*.toml")) for words in commands(file)]
    assert found
    for _, command, recipe, *options in found:
        sets = [value for name, value in pairwise(options) if name == "--set"]
        LOADERS[command](ROOT / recipe, dict(map(parse_override, sets)))
