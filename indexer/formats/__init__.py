"""Which kinds of file can be read, and how does each become documents?"""
