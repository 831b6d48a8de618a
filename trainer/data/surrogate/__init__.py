"""How similar are texts by a frozen model, and by BM25?

scores       both scores, for clustering, the filter of false negatives and the teacher
model        the frozen model as an encoder on the best device
word_scores  BM25 of a domain, as a sparse matrix
"""
