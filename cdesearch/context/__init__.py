"""What does a model use from the rest of the corpus, and how is it computed?

sample         samples the chunks of the context
context        the four stages in which a context is made
whitening      shift and projection from mean and covariance
token_weights  weights of tokens by idf
document       the document offset in the vectors of chunks
features       statistics of a corpus as a short vector, for a network that adapts to it
rounding       vectors as whole numbers or signs
vectors        the type of vectors, and their normalisation
"""
