"""How does the command line read arguments, print results and end the process?

start          starts every command, and runs a common query without importing typer
main           the commands of this package, and those that other packages register
command_names  finds out which command the first arguments name
query          the command `query`
grouping       groups the hits of one file, and folds repeated texts
passage_lines  the lines of a hit that are shown
plain_query    parses the arguments of a common query without typer
server_client  sends a query to a running server, which has already loaded the model
ask            the command `ask`
passage_text   formats passages as text for a language model
render         formats hits as text, as lines and as JSON
terminal_hits  prints hits on a terminal, fitted to its size
pager          shows long text through a pager
open_hit       the command `open`, for a hit of the last query
last_hits      remembers where the hits of the last query are
opening        opens a file in an editor or with the program of the system
completion     the command `completion`, for shells
answers        formats answers as text and as JSON
status         what is indexed, and what has changed since the last update
trust          the command `trust`, which confirms what an index asks for
named_index    which index a command opens: that of `--index`, or that of the argument
config_files   finds and reads the configuration files of the project and of the user
configured     the values that these files give to the options of a command
config         the command `config`
typed_path     the pattern of `--path`: relative to the indexed folder or the working directory, or absolute
usage          errors in options and arguments, in one sentence each
exits          exit codes, and one line for every error
"""
