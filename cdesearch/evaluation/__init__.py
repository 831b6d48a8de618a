"""How well does the search find what it should, in the user's own files?"""
