"""Is the right passage found in real folders?

archives       the pinned archives, and the files of each folder
rebuild        downloads the archives and makes the folders
questions      reads and checks the questions, which `questions/` holds for each folder
chunks         the chunks of an index, as a data set to choose constants by
measures       ranks of the right passage and file, and tokens read
systems        the systems that are compared
command        the command `folders`
names          unique names of functions and classes, and where the code defines them
names_command  the command `names`: is the definition of a name found first?
"""
