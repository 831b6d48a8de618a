"""What is the data of a run, and of one step?"""
