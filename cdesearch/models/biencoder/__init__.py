"""What does a biencoder in a sentence-transformers folder compute?

family  how it is detected and opened
folder  its modules and settings
model   a backbone and its pooling
"""
