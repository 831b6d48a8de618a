"""Is the right passage found in real folders?"""
