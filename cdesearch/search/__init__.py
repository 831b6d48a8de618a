"""How does a query become a ranked list of hits?"""
