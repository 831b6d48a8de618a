"""Which requests does the HTTP interface answer? One module for each resource below /api/v1.

search     the hits of a query
documents  the text around a chunk
status     what is indexed, and what has changed since
health     whether the server runs, and its metrics
"""
