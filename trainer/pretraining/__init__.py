"""How does a network learn from texts alone, without queries?"""
