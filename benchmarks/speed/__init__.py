"""What does it cost?

command       every speed measurement in one run
indexing      indexing against sentence-transformers
searching     warm and cold queries
joint         a text in joint attention
training      training steps and their memory
train_rate    the share of the matrix rate
trainee       one training step alone
peers         what a user could use instead
peer_process  one of these in its own process
synthetic     indexes of any size
turns         runs in turns, compared by medians
operations    arithmetic operations of a text
"""
