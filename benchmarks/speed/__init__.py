"""What does it cost?

command        runs the measurements of `speed`
indexing       indexing compared with sentence-transformers
searching      warm and cold queries
serving        many clients of a running server
cold           a query as a whole process, through a server and without one
joint          a text in joint attention
training       training steps and their memory
train_rate     training steps compared with matrix products
trainee        a single training step
peers          other search systems
peer_process   one system in a process of its own
scale          indexes of ten million chunks
scale_process  one stage of `scale` in a process of its own
simulation     queries and updates of a corpus in many shards
updating       updates of large folders
synthetic      indexes of any size
resembling     vectors like those of an index of many real texts
sentences      what the texts of such indexes are drawn from
turns          runs in turns, compared by their medians
operations     counts arithmetic operations
"""
