import pytest

import cdesearch

SECTIONS = {
    "reset.md": ("Restoring the factory state", "Hold the small button for ten seconds until the lamp blinks twice."),
    "bread.md": ("Baking a dark rye loaf", "Knead the dough, let it rise overnight, and bake it for fifty minutes."),
    "moon.md": ("Tides of the northern sea", "The moon pulls the water twice a day, and most at the new moon."),
    "cats.md": ("Sleep of young animals", "A kitten rests for most of the day, and wakes when it is hungry."),
    "paint.md": ("Drying times of oil colours", "A thin coat takes two days, and a thick one more than a week."),
}
FILLER = "It is described here in some detail for readers who have not seen it before, and with all of its limits."


@pytest.fixture(scope="session")
def manual(tmp_path_factory):
    """A folder of short pages with one heading each, which tests only read, and its index."""
    folder = tmp_path_factory.mktemp("manual")
    for name, (heading, text) in SECTIONS.items():
        (folder / name).write_text(f"## {heading}\n\n{FILLER} {text} {FILLER}\n")
    (folder / "start.md").write_text(f"Everyone begins here. {FILLER} See [how to bake at home](bread.md).\n")
    cdesearch.build(folder).close()
    return folder
