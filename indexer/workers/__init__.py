"""In which processes are files read, and within which limits?

pool      several workers, answers in the order of the files
process   one worker, seen from its parent
worker    the process itself
messages  what they send each other
limits    time, memory and text that a file may cost
"""
