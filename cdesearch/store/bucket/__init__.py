"""How is an index in a bucket of an object store read?

connection  how an object store is contacted: the library, credentials, retries
objects     reads and writes the objects of one index, and reports what failed
pointer     the object CURRENT, which names the live generation
snapshot    the small files of a generation in the user's cache
storage     gives readers the live generation, and compares it with its checksums
"""
