"""How does an index reach the disk, whole or not at all?"""
