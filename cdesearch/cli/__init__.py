"""How do people ask on the command line, and how does a process begin and end?"""
