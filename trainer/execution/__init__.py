"""How does a model run: in how many processes, and in which mode?

distributed      training in several processes
evaluation_mode  switches dropout off in a block
"""
