"""What does it cost?

command       runs the measurements of `speed`
indexing      indexing compared with sentence-transformers, its memory and disk, and the cost of a context
searching     warm queries, and queries as whole processes
serving       many clients of a running server
updating      updates of large folders
scale         indexes of up to ten million chunks
peers         the command that compares other search systems
peer_systems  these systems
material      texts and vectors of synthetic indexes
synthetic     writes such indexes
runs          runs in turns, or each in a process of its own
"""
