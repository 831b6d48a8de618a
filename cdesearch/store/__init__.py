"""What does an index look like on disk, and how is it checked before it is read?

index           one generation, open for reading
storage         gives readers the live generation of an index, in a folder or in a bucket
open_tables     opens the tables of a generation
place           the place of an index or of files: a path, or an address in a bucket
copies          the copies of files in buckets, and what messages call them
bucket/         how an index in a bucket is read
finding         which index a path names
layout          the names of the files of an index, and the commands that messages advise
folder          how an index folder is recognised, and how its small files are written
guard           what protects against the index of a stranger
trust           what an index asks for, and whether its user has confirmed it
manifest        the settings and counts of a generation
schema          chunks and hits, and the columns of the tables
vector_format   the columns of vectors, in several kinds
line_places     the places of the lines of a chunk
vocabulary      the words of a corpus whose language joins words
file_account    the outcome of every file that was found
checksums       the file of checksums of a generation
damage          compares the files of a generation with its checksums
named_indexes   opens several indexes by unique names
nesting         finds an index further up that covers a folder as well
fresh_build     the commands that build an index again, for messages
filesystem      what differs between operating systems
write_errors    why an index cannot be written
server_address  where the server of an index listens
"""
