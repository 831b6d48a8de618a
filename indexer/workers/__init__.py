"""In which processes are files read, and within which limits?

pool       several workers, with results in the order of the files
process    one worker, as its parent sees it
worker     the process itself
messages   the messages between pool and worker
limits     the time, memory and text that a file may take
stopwatch  how long a worker has worked, on a busy machine as well
"""
