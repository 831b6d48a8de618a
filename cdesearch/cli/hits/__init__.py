"""How are the hits of a query shown, and opened?"""
