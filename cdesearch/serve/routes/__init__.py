"""Which requests does the HTTP API answer? One module for each resource below /api/v1.

parameters  what the routes get from a request: the server, and the parameters that several have in common
search      the hits of a query, and why a chunk is a hit
ask         an answer with citations, as server-sent events
documents   the text around a chunk
files       the outcome of every file, and the values for the search filters
status      what is indexed, what has changed since the last update, and updates
"""
