"""What is the loss of a batch?

batch_loss      the whole loss: whitening, document context, then the objective of a recipe
contrastive     InfoNCE with an optional teacher
negatives       other queries as negatives, a margin, the scope of a teacher
stored_vectors  rounded and shortened vectors
long_documents  document context, and losses over chunks and whole documents
whitening_head  the whitening as trained parameters
token_weights   the weights of tokens from a batch
"""
