"""How does a long-running process serve programs, browsers and agents?

command    the command `serve`
settings   the settings of a server
lifecycle  how a server is announced, started in the background, and stopped
server     the TCP port and the Unix sockets, limits of clients, and how a server stops
app        the web application
security   the checks of every request, and the security headers of every response
problems   errors as RFC 9457 problem details
indexes    the open indexes, each with its newest generation, alone or searched as one
admission  which searches run, wait, or are refused
updates    updates of the indexes in processes of their own, on request or whenever files have changed
"""
