"""How does the command line read arguments, print results and end the process?

start            starts every command, and runs a common query without importing typer
main             the commands of this package, those that other packages register, and completions for shells
command_names    finds out which command the first arguments name
query_options    the options of a query; `cdesearch/search/options.py` is the table of them
query            the command `query`: searches with `cdesearch/service.py`, and `hits/` shows the hits
pager            shows text through a pager if it is longer than the terminal
passage_text     formats passages as text for a language model
ask              the command `ask`
answers          formats answers as text and as JSON
evaluate         the command `eval`, which compares the rankings of an index
asked_questions  the questions of `eval`
status           what is indexed, and what has changed since the last update
trust            the command `trust`, which confirms what an index asks for
config           the command `config`, which shows the options of the configuration files
config_files     finds and reads the configuration files of the project and of the user
configured       the values that these files give to the options of a command
models           the command `models`, which lists and fetches models
named_index      which index a command opens, and with which model
usage            errors in options and arguments, in one sentence each
exits            exit codes, and one line for every error
"""
