"""What does the context do? These are the paper's figures.

command     which figure to draw
context     retrieval by context
difficulty  how hard clustered batches are
figure      a figure as JSON and SVG
"""
