"""How similar are texts by a frozen model, and by BM25?

scores       both scores, for clustering, the filter of false negatives and the teacher
model        the frozen model as an encoder on the best device
word_scores  BM25 of a domain, by bm25s if it is installed
sparse_bm25  BM25 by bm25s
plain_bm25   BM25 in plain Python, without bm25s
"""
