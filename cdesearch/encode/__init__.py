"""How do texts become vectors?

load            a checkpoint to an encoder
encoder         prefixes, batches, contexts
batches         token ids to batches of similar length
corpus_context  the context of texts in memory
embedder        the model for programs that store vectors elsewhere
"""
