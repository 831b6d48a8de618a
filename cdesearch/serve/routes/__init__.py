"""Which requests does the HTTP interface answer? One module for each resource below /api/v1.

search       the hits of a query
ask          an answer with citations, as server-sent events
documents    the text around a chunk
explain      why a chunk is a hit
context_map  the chunks as points of a plane
files        what was done with every file, and which folders and types there are
updates      bring an index up to date
status       what is indexed, and what has changed since
health       whether the server runs, and its metrics
"""
