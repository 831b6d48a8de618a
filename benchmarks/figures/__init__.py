"""What do the paper's figures about the context look like for a model?

command  draws the chosen figure
context  retrieval by context
figure   stores a figure as JSON and SVG
"""
