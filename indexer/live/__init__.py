"""How does an index keep up with its files?"""
