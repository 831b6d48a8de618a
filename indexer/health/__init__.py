"""Is an index sound, and how is a damaged one repaired?

doctor   every file, table and search examined
repair   what is damaged, made again
command  the `doctor` command
"""
