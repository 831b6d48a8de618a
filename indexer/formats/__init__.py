"""Which kinds of file can be read, and how does each become documents?

To add a format, write a module here with one class that implements `format.Format`: its suffixes, and how a file is
read. Then add an instance of the class to `registry.FORMATS`, which the walk, the workers and the reader consult.

structured data  `json_file`, `xml_file`, `yaml_file`, and `sections` for TOML and INI
any of these     `compressed` reads files in gzip, bzip2, xz or Zstandard
"""
