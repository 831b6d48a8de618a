"""On what do the networks run?"""
