import io
import struct

from hypothesis import given
from hypothesis import strategies as st

from indexer.workers.messages import MOST_BYTES, Message, receive, send

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


@given(st.binary(max_size=200))
def test_noise_is_a_message_or_the_end_of_the_stream(noise):
    found = receive(io.BytesIO(noise))
    assert found is None or isinstance(found.header, dict)


def test_a_part_that_claims_more_than_the_limit_is_not_read():
    stream = io.BytesIO(struct.pack(">III", MOST_BYTES + 1, 0, 0) + b"{}")
    assert receive(stream) is None and stream.tell() == struct.calcsize(">III")
