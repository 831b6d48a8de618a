"""How does a run continue, report and measure itself?

training_run  the loop of a run: steps, held-out losses, state and checkpoints
checkpoint    the state of a run on disk
folder        the folder of a run, with a marker
sources       what a run was started from, by contents
log           the numbers of a run
tracker       the numbers of the log in trackio
plot          a chart of the log
watch         held-out losses with true, random and no context
evaluate      nDCG@10 on BEIR folders
stop          stops a run between two steps on Ctrl-C and SIGTERM
small_state   the state of a run with 16-bit numbers
parts         files in parts of 60 MiB
time_limit    ends a run after some minutes
"""
