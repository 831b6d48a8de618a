"""reStructuredText becomes Markdown line by line."""

import pytest
from read_bytes import document


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        (
            ".. code-block:: python\n    :linenos:\n\n    # no heading\n    if a:\n        b\n\nc",
            "\n\n```python\n# no heading\nif a:\n    b\n```\nc",
        ),
        (".. code::\n   :caption: a.py\n\n   b\n\nc", "a.py\n\n```\nb\n```\nc"),
        ("Run::\n\n    a\n\n    b\n\nand ::\n\n c\n\n", "Run:\n```\na\n\nb\n```\nand\n```\nc\n```\n"),
        ("::\n\n  a\n\n- b::\n\n    c\n\n  d::\n\n  e", "\n```\na\n```\n- b:\n```\nc\n```\n  d::\n\n  e"),
        ("Run::\n\n    # a\nb", "Run:\n\n    # a\nb"),  # no line is left for a fence
        ("Run::\n\n    ```\n\nb", "Run:\n\n    ```\n\nb"),
        ("a\n\n>>> b\n1\n\n>>> c\n2\n\nd\n\n>>> e", "a\n```pycon\n>>> b\n1\n\n>>> c\n2\n```\nd\n\n>>> e"),
        (
            ".. _a:\n.. comment\n   `b`\n.. index:: c\n   single: d\n.. contents::\n   :local:\n..\n\n  e",
            "\n\n\n\n\n\n\n\n\n  e",
        ),
        (
            ".. note:: a\n   b\n\n   .. code:: sh\n\n      c\n\n   d\n\n   .. tip::\n\n      e\n\n   f\n\ng",
            "Note: a\nb\n\n\n```sh\nc\n```\nd\n\nTip:\n\ne\n\nf\n\ng",
        ),
        (
            ".. versionadded:: 4.2\n.. deprecated:: 5.1 Use\n   `b`.",
            "New in version 4.2.\nDeprecated since version 5.1: Use\n`b`.",
        ),
        (".. py:function:: f(*a)\n   :async:\n\n   b\n\n.. automodule:: c.d", "`f(*a)`\n\n\nb\n\n`c.d`"),
        (".. figure:: a.png\n   :alt: b c\n\n   d", "![b c](a.png)\n\n\nd"),
        (".. toctree::\n   :caption: A\n\n   b\n   c <d>", "A\n\n\n   - b\n   - c <d>"),
        ("a [#b]_ [1]_\n\n.. [1] c\n   d", "a [#b] [1]\n\n[1] c\nd"),
        (
            "`a\nb <https://c.org>`_ d_ `e f`_ g_ ``h_``s\\ s\n\n.. _d: https://d.org\n.. _E F:\n   https://e.org",
            "[a\nb](https://c.org) [d](https://d.org) [e f](https://e.org) g_ ``h_``ss\n\n\n\n",
        ),
        (":ref:`a\n<b>` :class:`~c.D` :meth:`!e` `f`", "a\n `c.D` `e` `f`"),
        ("#. a\n#. b\n# c", "1. a\n1. b\n # c"),
        ("a\\'s \\*b\\* c\\, d", "a's \\*b\\* c\\, d"),
    ],
)
def test_each_line_becomes_a_line_of_markdown(text, markdown):
    found = document("a.rst", text)
    lines = dict(zip(found.line_numbers or range(1, 100), found.text.split("\n"), strict=False))
    expected = dict(enumerate(markdown.split("\n"), start=1))
    assert {n: line for n, line in lines.items() if line} == {n: line for n, line in expected.items() if line}
    assert len(expected) == text.count("\n") + 1


def test_titles_are_told_by_their_signs_and_the_lines_above_them():
    text = "=======\n Bears\n=======\n\n.. _food:\n.. setting:: honey\n\n:mod:`honey` **pots**\n"
    text += "=====================\n\n# no\n\n.. control:: prune\n\nTrees\n~~~~~\n\n"
    text += "Longer than its line\n---\n\n=====\nOaks\n=====\n"
    found = document("a.rst", text)
    headings = [(1, "Bears"), (2, "honey pots"), (3, "Trees"), (1, "Oaks")]
    assert found.title == "Bears" and [(one.level, one.title) for one in found.headings] == headings
    assert "`prune`" in found.text and "setting" not in found.text and "=====" not in found.text
