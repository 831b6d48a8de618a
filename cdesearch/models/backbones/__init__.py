"""Which transformer encoders do the models contain?"""
