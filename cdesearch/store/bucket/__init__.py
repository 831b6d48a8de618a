"""How is an index in a bucket of an object store read?"""
