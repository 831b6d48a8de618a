"""Which pairs share a batch, and what is one step's data?

pairs            pair files to domains on disk
surrogate        vectors and BM25 scores of a frozen model
cluster          similar pairs by k-means
pack             clusters to equal batches
false_negatives  documents that must not count as wrong
stream           the batches of a run in order
material         all of it, prepared once
context_documents  context that is disjoint from its batch
prefixes         text before queries and documents
training_batch   tokens and masks of one step
lexical          BM25 scores of a batch
beir             folders in the format of BEIR
random_stream    random numbers by purpose
"""
