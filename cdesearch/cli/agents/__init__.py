"""How do agents get to know the server for agents, and forget it again?"""
