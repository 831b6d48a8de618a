from dataclasses import replace

import pytest
from conftest import TINY

from cdesearch.errors import InputError
from trainer.data.pairs.prefixes import Prefixes
from trainer.recipe import check_recipe

START = replace(TINY, query_prefix="q: ", document_prefix="d: ")
OTHER = ("find ", "text ")


def prefixes_of(domains, **data):
    values = {"data": {"pairs": ["p"], **data}, "model": {"start": "m"}, "run": {"out": "o"}}
    return Prefixes.of_recipe(check_recipe(values, "r.toml").data, START, domains)


def test_without_prefixes_in_the_recipe_those_of_the_start_are_kept():
    found = prefixes_of(["a", "b"])
    assert found.of("a") == found.of_checkpoint == ("q: ", "d: ")


def test_prefixes_that_all_domains_share_are_those_of_the_checkpoint():
    found = prefixes_of(["a", "b"], prefixes={"a": OTHER, "b": OTHER})
    assert found.of("b") == found.of_checkpoint == OTHER


def test_the_prefix_of_the_recipe_is_that_of_the_checkpoint():
    found = prefixes_of(["a", "b"], prefixes={"a": OTHER}, prefix=("", ""))
    assert (found.of("a"), found.of("b"), found.of_checkpoint) == (OTHER, ("", ""), ("", ""))


def test_domains_with_different_prefixes_need_one_for_the_checkpoint():
    with pytest.raises(InputError, match="a checkpoint has one pair"):
        prefixes_of(["a", "b"], prefixes={"a": OTHER})


def test_prefixes_of_an_unknown_domain_are_refused():
    with pytest.raises(InputError, match=r"data\.prefixes names c, but no pair file"):
        prefixes_of(["a", "b"], prefixes={"c": OTHER})
    assert prefixes_of(["a"], prefixes={"b": OTHER}, leave_out=["b"]).of_checkpoint == ("q: ", "d: ")
