"""How do programs, browsers and agents ask a process that stays open?

command       the command `serve`
settings      what is chosen when a server starts
libraries     those of the extra that it needs
indexes       the open indexes, each with its newest generation
admission     which searches run, wait, or are refused
update_runs   updates that a client has asked for
state         what every route needs
problems      errors as RFC 9457 problem details
security      who may ask, and how much
metrics       measurements for Prometheus
app           the web application
listening     the port and the sockets, and how a server stops
lifecycle     how a server is announced, started in the background, and stopped
watch         updates that start when files change
idle          the end of a server that nobody uses
slow_clients  connections whose client sends too slowly
"""
