"""Which choice trains the better model?

ablation  trains and measures several arms of one recipe
"""
