"""What is one step's data, and which pairs share a batch?"""
