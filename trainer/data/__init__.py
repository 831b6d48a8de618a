"""Which pairs share a batch, and what is the data of one step?

pairs              pair files as domains on disk
beir               BEIR folders, for evaluation and to keep out of training
surrogate          scores by a frozen model and by BM25
lexical            BM25 of the texts of a domain
cluster            similar pairs by k-means
pack               clusters as batches of equal size
false_negatives    documents that must not count as wrong
context_documents  context that is disjoint from its batch
prefixes           text before queries and documents
training_batch     tokens and masks of one step
stream             the batches of a run in order
random_stream      independent random numbers for each purpose
material           all of this, prepared once
pair_store         pairs in memory-mapped files
word_scores        BM25 of a domain, by bm25s where it is installed
plain_bm25         BM25 where bm25s is missing
torch_kmeans       k-means where faiss is missing
surrogate_model    the surrogate on the best device
atomic_file        a file that is whole or unchanged
"""
