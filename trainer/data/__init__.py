"""What is the data of a run, and of one step?

Three folders hold most of it: `pairs`, `surrogate` and `batches`.

material        prepares all of this for a run
store           the store of prepared data: arrays on disk
training_batch  tokens and masks of one step
random_stream   independent random numbers for each purpose
"""
