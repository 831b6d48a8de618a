"""Which transformer encoders are under the models?"""
