"""What does a biencoder in a sentence-transformers folder compute?"""
