"""How does the command line read arguments, print results and end the process?

start            starts every command, and runs a common query without importing typer
main             the commands of this package, and those that other packages register
command_names    finds out which command the first arguments name
plain_query      parses the arguments of a common query without typer
query            the command `query`; `hits/` shows the hits
query_options    the arguments and options of this command
query_answer     answers a query, with a running server if there is one
server_client    sends a query to a running server, which has already loaded the model
typed_path       the pattern of `--path`: relative to the indexed folder or the working directory, or absolute
pager            shows text through a pager if it is longer than the terminal
passage_text     formats passages as text for a language model
ask              the command `ask`
evaluate         the command `eval`, which compares the rankings of an index
asked_questions  the questions of `eval`
answers          formats answers as text and as JSON
status           what is indexed, and what has changed since the last update
trust            the command `trust`, which confirms what an index asks for
completion       the command `completion`, for shells
config           the command `config`, which shows the options of the configuration files
config_files     finds and reads the configuration files of the project and of the user
configured       the values that these files give to the options of a command
models           the command `models`, which lists and fetches models
model_option     the option `--model` of commands that ask an index
named_index      which index a command opens: that of `--index`, or that of the argument
nearest_index    says which index answers where an index further up covers the folder as well
probability      reads a probability, as a number or as a percentage
usage            errors in options and arguments, in one sentence each
exits            exit codes, and one line for every error
"""
