"""Is cdesearch better than BM25 and a biencoder, and what does it cost?"""
