"""How does a Ray cluster build an index?

address     checks the address of a cluster, and whether its head answers
own_folder  the private folder of a cluster on this machine
session     connects to a cluster, or starts one on this machine
dispatch    runs tasks on the cluster, and turns their failures into errors
parts       the chunks that the cluster has read, in files that all machines see
reading     pass 1: reads and chunks groups of files, and ranks their chunks
scanning    sampled texts, token counts and languages of the corpus
places      where the vector of each chunk is, or in which window it is embedded
embedding   pass 2: embeds windows of chunks
writing     whitens vectors, adds document context, and writes fragments of the table
indexing    reads and finishes the tables on a worker: documents, drift, and the indexes
corpus      the state of one build between these steps
"""
