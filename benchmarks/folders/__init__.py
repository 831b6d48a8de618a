"""Is the right passage found in real folders?

archives   the pinned archives, and the files of each folder
rebuild    downloads the archives and makes the folders
questions  reads and checks the questions, which `questions/` holds for each folder, and measures what is found
chunks     the chunks of an index, as a data set to choose constants by
systems    the systems that are compared
command    the command `folders`
"""
