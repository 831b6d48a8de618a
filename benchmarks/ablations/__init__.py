"""Which choice trains the better model?

ablation  trains and measures several arms of one recipe
curves    draws the held-out losses of the arms
"""
