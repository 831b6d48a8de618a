"""Which pairs of query and document are there to train on?"""
