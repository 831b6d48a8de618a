"""What does an index look like on disk, and how is it checked before it is read?"""
