"""Which networks are there, and where do their checkpoints come from?"""
