"""Which kinds of file can be read, and how does each become documents?

To add a format, write a module here with one class that implements `format.Format`: its suffixes, and how a file is
read. Then add an instance of the class to `registry.FORMATS`, which the walk, the workers and the reader consult.

Formats of text: `markdown`, `restructured_text`, `org`, `asciidoc`, `latex`, `plain_text`, `html`, `notebook`, `code`,
`subtitles`. Formats of structured data: `json_file`, `xml_file`, `yaml_file`, and `sections` (TOML and INI). Formats of
documents: `pdf`, `docx`, `odt`, `rtf`, `epub`; presentations: `pptx`, `odp`; spreadsheets: `xlsx`, `ods`; messages:
`mail`. Formats of records: `jsonl`, `delimited` (CSV) and `parquet`. `compressed` is a file of any other format in
gzip, bzip2, xz or Zstandard.

The other modules are not formats. `format` is the interface, `registry` lists the formats, and `without_text` lists
kinds of files that contain no text. `encoding`, `json_values` and `records` are functions that several formats use;
`outline` writes structured data as lines with headings;
`package` reads ZIP archives of XML within limits, `opendocument` is what OpenDocument formats share, and `slides` and
`spreadsheet` make the documents of presentations and sheets. `pdf_segments` reads the words of a PDF page with their
positions, `pdf_repeated` removes headers and footers, and `pdf_layout` arranges the rest. `ocr` recognises the text of
scanned pages and of the format `image`, if that is switched on. `unreadable` is their error.
"""
