"""Which systems are compared? Each answers all queries of a data set.

system         the protocol
ranking        the best documents by score
product        an index on disk
contextual     vectors in a true, random or no context
biencoder      an off-the-shelf model
onnx           a model exported to ONNX
late_chunking  late chunking
text           BM25
fused          vectors fused with BM25 as in cdesearch
vectors        vectors stored on disk
"""
