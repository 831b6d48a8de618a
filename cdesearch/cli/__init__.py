"""How does the command line read arguments, print results and end the process?

main          the commands, and those that other packages register
render        hits as text and as JSON
status        what is indexed, and what has changed since
trust         the command that confirms what an index asks for
exits         exit codes, and one line for every error
"""
