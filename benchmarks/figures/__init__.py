"""What is the effect of the context? The figures of the paper.

command     draws the chosen figure
context     retrieval by context
difficulty  the difficulty of clustered batches
figure      stores a figure as JSON and SVG
"""
