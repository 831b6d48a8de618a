"""How does a Ray cluster read and embed the files of a build?"""
