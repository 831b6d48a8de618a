"""How does a run continue, report and measure itself?

checkpoint   the state of a run on disk
log          the numbers of a run
plot         a chart of the log
watch        held-out losses with true, random and no context
evaluate     nDCG@10 on BEIR folders
stop         Ctrl-C and SIGTERM between two steps
small_state  the state of trained tensors in fp16
parts        files in parts of 60 MiB
plain_lines  progress without rich
time_limit   the end of a slot of minutes
"""
