"""What is the data of a run, and of one step?

Three folders hold most of it: `pairs`, `surrogate` and `batches`.

material        prepares all of this for a run
training_batch  tokens and masks of one step
random_stream   independent random numbers for each purpose
interruptible   long loops over texts that can be stopped
stored          reads and writes arrays of prepared data
"""
