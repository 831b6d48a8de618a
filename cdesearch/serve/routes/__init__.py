"""Which requests does the HTTP API answer? One module for each resource below /api/v1.

parameters   the query parameters that several routes have in common
search       the hits of a query
ask          an answer with citations, as server-sent events
documents    the text around a chunk
places       the places of the lines of a chunk, for hits and documents
explain      why a chunk is a hit
files        the outcome of every file, and the values for the search filters
updates      starts an update of an index, and returns its progress
status       what is indexed, and what has changed since the last update
health       whether the server is running
"""
