"""What does an index look like on disk, and how is it checked before it is read?

index           one generation, open for reading
open_tables     opens the tables of a generation, on a disk or in a bucket
folder          how an index folder is recognised, and how its small files are read and written
named_indexes   opens several indexes by unique names
finding         which index folder a path names
bucket_address  the address of an index in a bucket, and the local folder that stands for it
bucket/         how an index in a bucket is read
nesting         finds an index further up that covers a folder as well
fresh_build     the commands that build an index again, for messages
filesystem      what differs between operating systems
manifest        the settings and counts of a generation
served_model    the model on a server that built an index
schema          chunks and hits, and the columns of the tables
vector_format   the columns of vectors, in several kinds
line_places     the places of the lines of a chunk
vocabulary      the words of a corpus whose language joins words
file_account    the outcome of every file that was found
checksums       the file of checksums of a generation
damage          compares the files of a generation with its checksums
lance_manifest  checks that tables hold their own data
write_errors    why an index cannot be written
trust           what an index asks for, and whether its user has confirmed it
server_address  where the server of an index listens
"""
