"""How does an index keep up with its files?

watched        waits until files of an index have changed
notifications  collects the events of the file system, and says if some will be missing
keep_up        updates an index whenever they have
command        the command `watch`
quick          updates an index before a query if that is quick
sources        the command `sources`
clear          the command `clear`
"""
