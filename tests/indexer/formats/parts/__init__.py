"""The parts that files of each format can have, each with a file that has one sentence in that part."""
