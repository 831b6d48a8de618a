"""How does a file become documents and chunks?

read       a file to documents, by its format
chunk      a document to chunks along its structure
splitters  which splitter a text gets
"""
