"""How does a run start, continue and report?"""
