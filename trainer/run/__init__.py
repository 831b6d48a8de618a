"""How does a run start, continue and report?

checkpoint       the state of a run on disk
log              what a run reports
plot             the log as a picture
watch            held-out losses with true, random and no context
evaluate         nDCG@10 on BEIR folders
stop             Ctrl-C and SIGTERM between two steps
distributed      which of several processes this is
atomic_file      a file that is whole or unchanged
evaluation_mode  a model without dropout for a while
"""
