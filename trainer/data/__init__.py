"""Which pairs share a batch, and what is the data of one step?

pairs              pair files as domains on disk
beir               BEIR folders, to evaluate and to exclude from training
surrogate          scores by a frozen model and by BM25
lexical            BM25 of the texts of a domain
cluster            similar pairs by k-means
token_store        tokens of all texts, memory-mapped
pack               clusters as batches of equal size
false_negatives    relevant documents that a batch would count as wrong
context_documents  context that is disjoint from its batch
prefixes           text before queries and documents
training_batch     tokens and masks of one step
stream             the batches of a run, in order
upcoming           prepares batches before their steps, in processes or in a thread
random_stream      independent random numbers for each purpose
material           prepares all of this for a run
pair_store         pairs in memory-mapped files
stored             reads and writes arrays of prepared data
pair_file          writes pair files
word_scores        BM25 of a domain, by bm25s if it is installed
plain_bm25         BM25 in plain Python, without bm25s
torch_kmeans       k-means without faiss
surrogate_model    the surrogate as an encoder on the best device
"""
