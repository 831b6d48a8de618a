"""Which pairs share a batch, and in which order do batches come?

cluster            similar pairs by k-means
pack               clusters as batches of equal size
false_negatives    relevant documents that a batch would count as wrong
context_documents  context that is disjoint from its batch
windows            chunks of a batch that are read together
stream             the batches of a run, in order
upcoming           prepares batches before their steps, in processes or in a thread
"""
