"""How does an index reach the disk, whole or not at all?

generation  a build beside the live generation, and the exchange of both
ledger      the names of generations that may be removed
lock        one writer at a time
tables      LanceDB's tables and indexes
"""
