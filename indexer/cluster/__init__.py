"""How does a Ray cluster read and embed the files of a build?

session  connects to a cluster, or starts one on this machine
engine   reads groups of files and embeds windows of chunks in tasks
"""
