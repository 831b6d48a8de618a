"""How similar are texts by a frozen model, and by BM25?"""
