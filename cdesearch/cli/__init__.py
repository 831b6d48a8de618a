"""How does the command line read arguments, print results and end the process?"""
