"""What is an index on disk, and may it be trusted?

index           one generation, open for reading
folder          which folder is meant, and how its small files are read and written
manifest        the record of what built a generation
schema          chunks and hits, and the columns of the tables
file_account    the outcome of every file that was seen
checksums       whether the files are still those that were written
lance_manifest  whether tables hold their own data
trust           what an index asks for, and whether its user has confirmed that
"""
