"""Which pairs share a batch, and what is one step's data?

pairs            pair files to domains on disk
surrogate        vectors and BM25 scores of a frozen model
cluster          similar pairs by k-means
pack             clusters to equal batches
false_negatives  documents that must not count as wrong
batch            tokens and masks of one step
stream           the batches of a run in order
material         all of it, prepared once
"""
