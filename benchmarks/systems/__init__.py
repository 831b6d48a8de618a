"""Which systems are compared? Each answers all queries of a data set.

system      the protocol of all systems, their rankings and shared vectors
registry    all systems by name
product     cdesearch with an index on disk
contextual  vectors of cdesearch with a true, random or no context
biencoder   an off-the-shelf model
text        BM25
fused       vectors fused with BM25 as in cdesearch
"""
