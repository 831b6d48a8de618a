"""Which transformer encoders do the models use?"""
