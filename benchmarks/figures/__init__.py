"""What do the figures of the papers look like for a model? Those of CDE, pplx-embed and coCondenser.

command     draws the chosen figure
context     retrieval by context
difficulty  the difficulty of clustered batches
storage     quality against bytes
growth      queries that find other queries as their number grows
neighbours  the neighbours that training keeps
figure      stores a figure as JSON and SVG
"""
