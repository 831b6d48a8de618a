"""How does an index reach the disk, whole or not at all?

generation  builds a generation beside the live one and swaps it in
lock        one writer at a time
removal     removes an index, and leaves foreign files
segments    the parts of a search index that updates add
tables      LanceDB's tables and indexes
"""
