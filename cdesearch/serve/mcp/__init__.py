"""How do agents search, over the Model Context Protocol?

command         `cdesearch mcp`: stdin and stdout
server          the requests of the protocol, for every transport
tools           names, descriptions, parameters and results of the tools
parameters      arguments of a tool: their schema and their check
search_tool     passages for a query
read_tool       a range of a document
outline_tool    the headings of a document, or the contents of a folder
status_tool     what is indexed
resources       documents that a client can attach
budget          answers that respect a number of tokens
cursor          where the next part of an answer starts
named_document  the document that a caller means
document_lines  stored text by lines, pages or parts
headings        the headings in stored chunks
"""
