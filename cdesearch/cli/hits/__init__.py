"""How are the hits of a query shown, and opened?

render         the parts of a hit as text and JSON; prints hits as plain lines or in the form of grep
terminal       prints hits on a terminal, fitted to its size
grouping       groups the hits of one file, and folds repeated texts
passage_lines  the lines of a hit that are shown
opening        remembers where the hits of the last query are, and opens one
"""
