import io

from hypothesis import given
from hypothesis import strategies as st

from indexer.workers.messages import Message, receive, send

messages = st.builds(
    Message,
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text())),
    st.binary(max_size=50),
    st.binary(max_size=50),
)


@given(st.lists(messages, max_size=4), st.data())
def test_messages_arrive_as_they_were_sent_and_one_that_breaks_off_ends_the_stream(sent, data):
    stream, ends = io.BytesIO(), []
    for message in sent:
        send(stream, message)
        ends.append(stream.tell())
    stop = data.draw(st.integers(0, stream.tell()))
    part = io.BytesIO(stream.getvalue()[:stop])
    whole = [message for message, end in zip(sent, ends, strict=True) if end <= stop]
    assert [receive(part) for _ in whole] == whole
    assert receive(part) is None
