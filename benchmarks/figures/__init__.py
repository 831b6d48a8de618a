"""What do the paper's figures about the context look like for a model?

context  the figures, and the command that draws one
figure   stores a figure as JSON and SVG
"""
