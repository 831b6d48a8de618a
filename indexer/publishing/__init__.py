"""How does an index reach a bucket, whole or not at all?

working_copy  the local index folder in which a run builds, and its two ends: download and publication
transfer      copies the files of a generation to and from the bucket
"""
