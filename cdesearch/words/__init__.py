"""How do texts and queries become searchable words, and in which languages are they written?"""
