"""Which systems are compared? Each answers all queries of a data set.

system             the protocol of all systems
ranking            the best documents by score
product            cdesearch with an index on disk
contextual         vectors of cdesearch with a true, random or no context
biencoder          an off-the-shelf model
onnx               a model exported to ONNX
late_chunking      late chunking
text               BM25
fused              vectors fused with BM25 as in cdesearch
weighted_z         a fusion with a fixed weight of text
vectors            stores vectors on disk
stored             the vectors of another system, rounded or with fewer dimensions
remembered_states  a model that computes the token states of each text once
"""
