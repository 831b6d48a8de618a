"""How does an index keep up with its files?

watched   waits until files of an index have changed
keep_up   updates an index whenever they have
command   the command `watch`
quick     updates an index before a query if that is quick
sources   the command `sources`
clear     the command `clear`
"""
