"""How does a folder become an index?"""
