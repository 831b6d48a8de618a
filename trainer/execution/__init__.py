"""How does a model run: in how many processes, and in which mode?"""
