"""Which pairs of query and document are there to train on?

reading   pair files, and the pairs in each
leaks     pairs that resemble evaluation sets
domains   the pairs of each domain on disk, without duplicates and leaks
store     pairs in memory-mapped files
writing   writes pair files
prefixes  text before queries and documents
beir      BEIR folders, to evaluate and to exclude from training
"""
