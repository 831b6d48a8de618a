"""How does a query become a ranked list of hits?

searcher      an open index for any number of threads
model_loader  the models that built indexes, each loaded once
reader        one query on one generation: candidates, scores, hits
fusion        combines dense and lexical scores; the registry of fusions
explanation   why a chunk is a hit, as numbers that add up to its score
context_map   the chunks as points of a plane
drift         how far a corpus has moved away from its context
documents     the stored texts, read without a query
passages      hits in a budget of tokens, neighbours joined
sentences     splits text into sentences, headings, rows and code
result        what a search returns
path_filter   a glob over paths as an SQL condition
"""
