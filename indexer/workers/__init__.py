"""In which processes are files read, and within which limits?"""
