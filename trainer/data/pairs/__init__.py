"""Which pairs of query and document are there to train on?

reading        pair files, and the pairs in each
saved_dataset  data sets in folders of the library `datasets`
leaks          pairs that resemble evaluation sets
domains        the pairs of each domain on disk, without duplicates and leaks
answers        which documents of a domain answer which queries
writing        writes pair files
beir           BEIR folders, to evaluate and to exclude from training
"""
