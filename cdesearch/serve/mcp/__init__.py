"""How do agents search, over the Model Context Protocol?

command        the command `mcp`, a server on stdin and stdout
server         the tools, with the texts that models read
search_tool    the tool `search`: passages for a query
read_tool      the tool `read`: a range of a document
outline_tool   the tool `outline`: the headings of a document, or the contents of a folder
status_tool    the tool `status`: what is indexed, and what has changed since
answers        answers within a budget of tokens, and cursors for their next parts
documents      finds the document that a caller names, its lines and its headings
"""
