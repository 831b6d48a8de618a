"""Which choice trains the better model?

plan      the settings of an ablation
ablation  trains and measures several arms of one recipe
"""
