"""Server-sent events, whatever the boundaries of the bytes."""

from hypothesis import given
from hypothesis import strategies as st

from wayline.models.sse import SseDecoder

DATA = st.lists(
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=5
)


@given(DATA, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.integers(0, 10**6)), st.booleans())
def test_any_cut_of_the_bytes_gives_the_same_events(data: list[str], end: str, cuts: list[int], bom: bool):
    stream = "".join(f": comment{end}event: x{end}data: {item}{end}{end}" for item in data)
    raw = (b"\xef\xbb\xbf" if bom else b"") + stream.encode()
    places = sorted({cut % (len(raw) + 1) for cut in cuts})
    decoder = SseDecoder()
    events: list[bytes] = []
    for start, stop in zip([0, *places], [*places, len(raw)], strict=True):
        events += decoder.feed(raw[start:stop])
    events += decoder.end()
    assert [event.decode() for event in events] == data


def test_several_data_lines_are_one_event():
    assert SseDecoder().feed(b"data: a\ndata:b\ndata\n\n") == [b"a\nb\n"]


def test_an_event_without_data_is_none():
    assert SseDecoder().feed(b"event: ping\n\n: hello\n\n") == []
