"""What do the paper's figures about the context look like for a model?"""
