"""What does a sentence-transformers folder compute?"""
