"""What is known of a corpus, and how is it computed?

sample         which chunks are the context
context        the four stages in which a context is made
whitening      shift and projection from mean and covariance
token_weights  weights of tokens by idf
document       the offset of a chunk's vector towards its document
vectors        rows of numbers of length 1
"""
