"""The place of a line is that of the last entry at or above it."""

from cdesearch.store.line_places import MAX_ENTRIES, Changes, LinePlaces, numbered, value_at


def test_an_entry_holds_until_the_next_one():
    entries = ((2, "b"), (4, "c"))
    assert [value_at(entries, line, "a") for line in range(6)] == ["a", "a", "b", "b", "c", "c"]
    places = LinePlaces(numbers=((2, 10), (4, 30)))
    assert [places.number_at(line, 5) for line in range(6)] == [5, 6, 10, 11, 30, 31]
    assert [places.shifted(3).number_at(line, 5) for line in (4, 5, 7)] == [9, 10, 30]


def test_an_entry_is_written_only_where_the_value_changes():
    changes = Changes("a")
    for line, value in ((1, "a"), (2, "b"), (3, "c"), (3, "b"), (4, "d")):
        changes.add(line, value)
    assert changes.entries == [(2, "b"), (4, "d")]
    for line in range(5, 5 + 2 * MAX_ENTRIES):
        changes.add(line, line)
    assert len(changes.entries) == MAX_ENTRIES


def test_numbers_of_blank_lines_are_not_written():
    assert numbered([3, 3, 4, 9, 10], ["a", "", "b", "c", "d"]) == ((2, 4), (3, 9))
    assert numbered([], []) == () == numbered([7, 8], ["a", "b"])
