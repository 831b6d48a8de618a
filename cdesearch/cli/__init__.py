"""How does the command line read arguments, print results and end the process?

main          the commands, and those that other packages register
ask           the command that answers a question
render        hits as text and as JSON
answers       answers as text and as JSON
status        what is indexed, and what has changed since
trust         the command that confirms what an index asks for
named_index   which index a command opens: `--index`, or the argument
typed_path    the pattern of `--path`: relative to the indexed folder or the working directory, or absolute
usage         errors in options and arguments, in one sentence each
exits         exit codes, and one line for every error
"""
