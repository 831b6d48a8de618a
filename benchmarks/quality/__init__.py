"""Is it better?"""
