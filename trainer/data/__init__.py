"""What is the data of a run, and of one step?

Three folders hold most of it: `pairs`, `surrogate` and `batches`.
"""
