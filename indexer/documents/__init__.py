"""How does a file become documents and chunks?"""
