"""Which pairs share a batch, and in which order do batches come?"""
