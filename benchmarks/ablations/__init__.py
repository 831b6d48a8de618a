"""Which choice trains the better model?"""
