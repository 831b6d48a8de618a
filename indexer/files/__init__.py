"""Which files are worth reading, and what becomes of all others?

walk          finds every file below the sources, with its outcome
ignore        the rules of one ignore file
ignore_chain  the ignore files from the repository down to a folder
opening       opens files without following links
"""
