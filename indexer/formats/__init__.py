"""Which kinds of file can be read, and how does each become documents?

To add a format, write a module here with one class that implements `format.Format`: its suffixes, and how a file is
read. Then add an instance of the class to `registry.FORMATS`, which the walk, the workers and the reader consult.

text             `markdown`, `markup` for reStructuredText, Org, AsciiDoc and LaTeX, with `latex` for its lines, `html`,
                 `plain_text`, `manual` for its pages, `notebook`, `code`, `subtitles`
structured data  `json_file`, `xml_file`, `configuration` for YAML, TOML and INI
documents        `pdf`, `docx`, `rtf`, `epub`, `opendocument` for texts, presentations and spreadsheets
presentations    `pptx`
spreadsheets     `xlsx`
messages         `mail`
records          `jsonl`, `delimited` for CSV, `parquet`
images           `ocr`, which also recognises text in scanned pages
any of these     `compressed` reads files in gzip, bzip2, xz or Zstandard

The other modules are not formats. `format` is the interface, `registry` lists the formats, and `unreadable` says what
cannot be read. Several formats use `encoding`, which decodes bytes, and `records`. `outline` writes structured data as
lines with headings. `package` reads ZIP archives of XML within limits. `slides` and `spreadsheet` make the documents of
presentations and sheets. `pdf_segments` reads the words of a PDF page with their positions, `pdf_repeated` removes
headers and footers, `pdf_layout` arranges the rest, and `pdf_headings` recognises headings.
"""
