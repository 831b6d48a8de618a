"""How does a question get an answer with citations?"""
