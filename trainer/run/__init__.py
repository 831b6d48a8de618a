"""How does a run continue and report?

folder  the folder of a run, with a marker and a lock
state   the state of a run on disk, with which it continues
loop    steps, held-out losses, states, and a stop on Ctrl-C and SIGTERM
watch   held-out losses with true, random and no context
log     the numbers of a run
plot    a chart of the log
"""
