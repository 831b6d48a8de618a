"""How do people search on a whole terminal, with results that change while they type?

command  the command `tui`
app      the application: the words, the hits, and the preview
preview  the text around a hit, with its passage marked
"""
