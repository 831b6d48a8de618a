"""Which files are worth reading, and what becomes of all others?

walk           finds every file below the sources, with its outcome
selection      the limits and globs by which files are found
unchanged      the outcomes of the last walk, for folders in which nothing has changed since
outcome        whether one file is read, skipped or ignored
ignore         the rules of one ignore file
ignore_chain   the ignore files from the repository down to a folder
globs          the files that a user includes and excludes
byproducts     files and folders that programs write
text_start     recognises text in files whose names no format lists
bucket_copies  copies files of a bucket into the user's cache
opening        opens files without following links
"""
