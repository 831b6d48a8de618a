"""How are the hits of a query shown, and opened?

printing       prints hits as plain lines or in the form of grep, or chooses `terminal`
terminal       prints hits on a terminal, fitted to its size
grouping       groups the hits of one file, and folds repeated texts
render         the parts of a hit as text: its heading, location and title; and hits as JSON
passage_lines  the lines of a hit that are shown
open_hit       the command `open`, for a hit of the last query
last_hits      remembers where the hits of the last query are
opening        opens a file in an editor or with the program of the system
unpacking      unpacks a compressed file for an editor
"""
