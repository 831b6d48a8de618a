"""Which kinds of file can be read, and how does each become documents?

To add a format, write a module here with one class that implements `format.Format`: its suffixes, and how a file is
read. Then add an instance of the class to `registry.FORMATS`, which the walk, the workers and the reader consult.

Formats: `markdown`, `restructured_text`, `plain_text`, `html`, `pdf`, `docx`, `notebook`, `code`, and the records
`jsonl`, `delimited` (CSV) and `parquet`.

The other modules are not formats. `format` is the interface, `registry` lists the formats, and `without_text` lists
kinds of files that contain no text. `encoding`, `json_values` and `records` are functions that several formats use;
`unreadable` is their error.
"""
