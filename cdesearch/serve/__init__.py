"""How does a long-running process serve programs, browsers and agents?

command        the command `serve`
settings       the settings of a server
libraries      checks that the libraries of the extra `serve` are installed
indexes        the open indexes, each with its newest generation, alone or searched as one
admission      which searches run, wait, or are refused
update_runs    updates of indexes that run in processes of their own
state          the parts of a running server, which every route can use
problems       errors as RFC 9457 problem details
security       the checks of every request, and the security headers of every response
app            the web application
listening      the TCP port and the Unix sockets, and how a server stops
lifecycle      how a server is announced, started in the background, and stopped
watch          starts a process for each index, which updates it when its files change
watch_process  what such a process does
idle           stops a server that has had no request for some time
slow_clients   closes connections whose client sends or reads too slowly
"""
