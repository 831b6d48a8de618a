"""The table of options is what every surface offers: the fields, the command line, programs and configuration files."""

from dataclasses import fields

import pytest
from typer.main import get_command

from cdesearch.cli import main as cli
from cdesearch.cli.configured import options_of
from cdesearch.cli.query_options import QueryOptions
from cdesearch.search.options import FLAGS, OPTIONS, PARAMETERS, VALUED
from cdesearch.search.request import Filters, SearchRequest

SHOWING = {one.field for one in OPTIONS if not one.is_search and one.stands_for is None}


def test_each_option_is_a_field_of_the_request_or_of_what_is_shown():
    names = {one.field for one in PARAMETERS}
    assert names == {one.name for one in fields(SearchRequest)} - {"text", "is_typed", "facets"}
    assert {one.name for one in fields(QueryOptions)} - {"request"} == SHOWING
    assert names == Filters.__annotations__.keys() | {"k", "mode", "path"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda one: one.field)
def test_typer_and_configuration_files_have_each_option(option):
    parameters = options_of(get_command(cli.app).commands["query"])
    found = parameters[option.key]
    assert (found.name, (*found.opts, *found.secondary_opts)) == (option.field, option.names)
    assert found.is_flag == (option.kind == "flag") and found.multiple == option.is_repeated
    assert option.help in found.help
    assert parameters.keys() == {one.key for one in OPTIONS}


def test_the_quick_parser_has_each_option():
    assert {*VALUED, *FLAGS} == {name for option in OPTIONS for name in option.names}
