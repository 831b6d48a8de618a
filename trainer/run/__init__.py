"""How does a run continue and report?"""
