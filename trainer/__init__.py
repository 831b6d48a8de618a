"""How does text become a model?"""
