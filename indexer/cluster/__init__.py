"""How does a Ray cluster read and embed the files of a build?

address  checks the address of a cluster, and whether its head answers
session  connects to a cluster, or starts one on this machine
tasks    runs tasks on the cluster, and turns their failures into errors
engine   reads groups of files and embeds windows of chunks in tasks
"""
