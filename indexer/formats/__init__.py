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

"""
