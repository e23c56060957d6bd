"""Windows by position agree with the list of all windows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logitscope.surprisal import windows
from logitscope.window_ids import window_ids, window_of


@given(st.integers(1, 300), st.integers(2, 40), st.data())
def test_the_window_of_a_position(n: int, size: int, data: st.DataObject) -> None:
    stride = data.draw(st.integers(1, size // 2))
    cut = windows(n, size, stride)
    for position in range(n):
        expected = next(window for window in cut if window.end > position)
        assert window_of(position, n, size, stride) == expected


def test_bos_goes_in_front_of_later_windows_only_where_the_text_has_it() -> None:
    assert window_ids([1, 7, 8, 9], 0, 3, bos=1) == (1, 7, 8)
    assert window_ids([1, 7, 8, 9], 1, 4, bos=1) == (1, 8, 9)
    assert window_ids([7, 8, 9], 1, 3, bos=1) == (8, 9)
    assert window_ids([7, 8, 9], 1, 3, bos=None) == (8, 9)
