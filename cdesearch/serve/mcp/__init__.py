"""How do agents search, over the Model Context Protocol?"""
