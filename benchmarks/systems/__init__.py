"""What is compared? Each system answers all queries of a data set.

system         the protocol
product        an index on disk
contextual     vectors in a true, random or no context
biencoder      an off-the-shelf model
onnx           a model exported to ONNX
late_chunking  late chunking
text           BM25
fused          vectors and BM25 as the product fuses them
vectors        vectors kept on disk
"""
