"""How does a model run: in how many processes, and in which mode?

distributed      training in several processes
evaluation_mode  a model without dropout for a while
"""
