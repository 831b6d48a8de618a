"""How does a question get an answer with citations?

answer      answers that are quoted from passages or written by a language model
candidates  the sentences of passages that an answer may quote
extract     chooses the sentences that answer a question best
prompt      the messages that are sent to a language model
endpoint    an OpenAI-compatible server, and the stream of its answer
citations   checks the citations of a language model while it writes
"""
