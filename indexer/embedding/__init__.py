"""How does every chunk get its vector?

context           the sample and the whitening of a corpus on disk
spool             chunks on their way to the model
embed             texts to vectors, window by window
embedding_cache   vectors by content hash
document_vectors  document context added
fill              what of the table must be written
"""
