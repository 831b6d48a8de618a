"""Which files are worth reading, and what becomes of all others?"""
