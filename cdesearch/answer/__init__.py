"""How does a question get an answer with citations?

answer      answers, quoted from passages or written by a language model
candidates  the sentences of passages that may be quoted
extract     chooses the sentences that answer best
evidence    whether passages answer a question at all
prompt      the messages that ask a language model
endpoint    an OpenAI-compatible server, and its stream
citations   checks the citations of a language model while it writes
"""
