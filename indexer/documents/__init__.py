"""How does a file become documents and chunks?

read         reads a file into documents, by its format
chunk        splits a document into chunks along its structure
definitions  makes headings of the classes and functions of code
openings     finds the lines that must stay with the text after them, and a licence
places       the headings, lines, pages and anchors of offsets in a document
splitters    chooses the splitter of a text
parsing      parses code in bounded time
"""
