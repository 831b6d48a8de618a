"""Is an index sound, and how is a damaged one repaired?

doctor   examines every file, table and search
repair   makes damaged parts again
command  the `doctor` command
"""
