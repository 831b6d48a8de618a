"""How do agents search, over the Model Context Protocol?

command         the command `mcp`, a server on stdin and stdout
server          answers the requests of the protocol, for every transport
tools           names, descriptions, parameters and result schemas of the tools
parameters      the parameters of a tool: their JSON schema and their validation
search_tool     the tool `search`: passages for a query
read_tool       the tool `read`: a range of a document
outline_tool    the tool `outline`: the headings of a document, or the contents of a folder
status_tool     the tool `status`: what is indexed, and what has changed since
resources       indexed documents as resources that a client can attach
budget          limits the number of tokens of an answer
cursor          cursors, which mark where the next part of an answer starts
named_document  finds the document that a caller names
document_lines  the stored text of a document by lines, pages or parts
headings        finds the headings of a document in its stored chunks
"""
