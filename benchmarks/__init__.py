"""Is it better than BM25 and than a biencoder, and how fast?"""
