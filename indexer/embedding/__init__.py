"""How does every chunk get its vector?

context           samples a corpus on disk and fits its whitening
same_model        whether the server still has the model of an unfinished build
spool             chunks on disk that wait for the model
languages         the languages of the chunks, and the full-text search that fits them
vocabulary        the words of the chunks, in a language that joins words
embed             encodes texts, window by window
chunk_windows     encodes the chunks of a document together, for models that read them so
embedding_cache   vectors by the key of the text
document_vectors  adds document context
stages            publishes what can be searched before a build is complete
fill              writes the chunks that the table lacks
"""
