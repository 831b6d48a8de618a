"""Which choice trains the better model?

ablation  arms of one recipe, trained and measured alike
"""
