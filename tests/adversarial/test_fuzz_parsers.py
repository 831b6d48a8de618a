"""Property-based fuzzing of every parser for a few seconds; `make fuzz` does the same for longer, with new files."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parser_fuzzing import SEEDS, check, files, mutated, mutated_package
from sample_files import PACKAGES

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
quick = settings(
    max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_the_valid_file_that_fuzzing_starts_from_is_read(name):
    assert check(name, SEEDS[name])


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_a_mutated_file_is_read_or_refused_with_a_reason(name):
    @quick
    @given(st.data())
    def check_one(data):
        check(name, mutated(data.draw, SEEDS[name]))

    check_one()


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_a_package_with_a_mutated_part_is_read_or_refused_with_a_reason(name):
    @quick
    @given(st.data())
    def check_one(data):
        check(name, mutated_package(data.draw, PACKAGES[name]))

    check_one()


@settings(quick, max_examples=EXAMPLES or 150, derandomize=not EXAMPLES)
@given(files)
def test_any_file_is_read_or_refused_with_a_reason(file):
    check(*file)
