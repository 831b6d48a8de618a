"""Which kinds of file can be read, and how does each become documents?

To add a format, write a module here with one class that implements `format.Format`: its suffixes, and how a file is
read. Then add an instance of the class to `registry.FORMATS`, which the walk, the workers and the reader consult.

text             `markdown`, `restructured_text`, `org`, `asciidoc`, `latex`, `plain_text`, `html`, `notebook`,
                 `code`, `subtitles`
structured data  `json_file`, `xml_file`, `yaml_file`, and `sections` for TOML and INI
documents        `pdf`, `docx`, `odt`, `rtf`, `epub`
presentations    `pptx`, `odp`
spreadsheets     `xlsx`, `ods`
messages         `mail`
records          `jsonl`, `delimited` for CSV, `parquet`
images           `image`
any of these     `compressed` reads files in gzip, bzip2, xz or Zstandard

The other modules are not formats. `format` is the interface, `registry` lists the formats, `without_text` lists kinds
of files that contain no text, and `unreadable` contains the errors. Several formats use the functions of `encoding`,
`json_values` and `records`. `plain_text` also reads pages of the manual: `manual` converts them, `mdoc` reads one of
the two kinds of macros, and `troff` the escapes. `outline` writes structured data as lines with headings. `package`
reads ZIP archives of XML within limits, and `opendocument` reads what all OpenDocument formats share. `slides` and
`spreadsheet` make the documents of presentations and sheets. `pdf_segments` reads the words of a PDF page with their
positions, `pdf_repeated` removes headers and footers, `pdf_layout` arranges the rest, and `pdf_headings` recognises
headings. `ocr` recognises text in scanned pages and images.
"""
