"""What is the loss of a batch?"""
