"""How is a model fitted to the corpus of one index, without labels?

command         the command `adapt`
adapt           all phases in their order, each of which is continued after an interruption
corpus          the chunks of an index: those to train on, and those whose sentences choose the result
own_pairs       pairs of sentences or headings and passages
own_recipe      the recipe of training
pace            how long a step takes on this machine
clock           how much of the time is used
timed_run       training that ends when its time is used
work_folder     the folder of the work and of the result
held_out_ranks  how high a model ranks the passages of held-out sentences
start           the model of the index, if it can be adapted
result          what a user is told about the result
share           which mean of the start and the adapted model is the result, if any
"""
