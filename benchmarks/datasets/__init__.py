"""On which data is it measured?"""
