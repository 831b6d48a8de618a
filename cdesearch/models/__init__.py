"""Which kinds of models can be used, and where are their checkpoints?"""
