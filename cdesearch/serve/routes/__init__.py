"""Which requests does the HTTP interface answer? One module for each resource below /api/v1."""
