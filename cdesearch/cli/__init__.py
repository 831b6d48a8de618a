"""How does the command line read arguments, print results and end the process?

start          the start of every command, which runs a common query without typer
main           the commands, and those that other packages register
command_names  which command the first words name
query          the `query` command
plain_query    the arguments of a common query, read without typer
server_client  asks a running server, which has loaded the model already
ask            the `ask` command
passage_text   passages for a language model
render         hits as text and as JSON
answers        answers as text and as JSON
status         what is indexed, and what has changed since
trust          the command that confirms what an index asks for
named_index    which index a command opens: `--index`, or the argument
typed_path     the pattern of `--path`: relative to the indexed folder or the working directory, or absolute
usage          errors in options and arguments, in one sentence each
exits          exit codes, and one line for every error
"""
