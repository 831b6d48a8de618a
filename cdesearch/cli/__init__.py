"""How do people ask on the command line, and how does a process begin and end?

main          the commands, and those that other packages bring
render        hits for people and as JSON
status        what is indexed, and what has changed since
trust         the command that confirms what an index asks for
exits         exit codes, and one line for every error
slim_imports  imports that the command line leaves out to start fast
"""
