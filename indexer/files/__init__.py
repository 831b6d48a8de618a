"""Which files are worth reading, and what becomes of all others?

walk          every file below the sources, with its outcome
ignore        the rules of one ignore file
ignore_chain  the ignore files from the repository down to a folder
opening       files opened without following links
"""
