"""How does a long-running process serve programs, browsers and agents?"""
