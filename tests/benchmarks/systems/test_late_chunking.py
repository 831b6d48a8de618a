from benchmarks.systems.late_chunking import _windows


def test_windows_hold_whole_chunks_in_order():
    rows = [[1] * 300, [1] * 200, [1] * 100, [1] * 900]
    assert list(_windows([0, 1, 2, 3], rows)) == [[0, 1], [2], [3]]
