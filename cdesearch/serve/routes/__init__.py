"""Which requests does the HTTP API answer? One module for each resource below /api/v1."""
