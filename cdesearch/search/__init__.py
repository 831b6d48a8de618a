"""How does a query become hits?"""
